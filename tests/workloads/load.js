// SPDX-License-Identifier: MIT
// Native allocations below compiled, interpreted and generated code, in two
// threads.  Argument: seconds; not before LEAST turns.
const crypto = require('crypto');
const zlib = require('zlib');
const { Worker, isMainThread } = require('worker_threads');

const seconds = Number(process.argv[2] || 10);
const end = Date.now() + seconds * 1000;
const LEAST = 6000;
const jobs = [
  i => zlib.deflateSync(Buffer.alloc(400 + i % 900, i & 255)).length,
  i => zlib.gunzipSync(zlib.gzipSync('abc'.repeat(50 + i % 100))).length,
  i => crypto.createHash('sha256').update(String(i)).digest().length,
  i => JSON.stringify(JSON.parse(`{"a":[1,{"b":"${'x'.repeat(i % 300)}"}]}`)).length,
  i => Buffer.concat([Buffer.from('q'.repeat(i % 5000)), Buffer.alloc(9000)]).length,
  i => 'axbxc'.replace(/x/g, m => m + i).length,
  i => { try { throw new Error('e' + i); } catch (e) { return e.stack.length; } },
  i => new Function('a', 'return a + ' + i % 1000)(1),
  i => [...'hello'].sort((a, b) => a < b ? 1 : -1).length,
  i => new Intl.NumberFormat('en').format(i).length,
];
let sum = 0;
let i = 0;

function dive(depth, job) {
  return depth ? dive(depth - 1, job) + 1 : job();
}

function turn() {
  for (let k = 0; k < 200; k++, i++)
    sum += dive(i % 37, () => jobs[i % jobs.length](i));
  if (i < LEAST || Date.now() < end)
    (i % 3 ? setImmediate : process.nextTick)(turn);
  else
    console.log(isMainThread, i, sum);
}

if (isMainThread)
  new Worker(__filename, { argv: [String(seconds)] });
turn();
