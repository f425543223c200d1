# SPDX-License-Identifier: MIT
"""Real programs, with children, threads, workers and signals of their own.

Each script runs twice, $TRACE being nothing or memprof-record; its output must
be the same.  No PATH.live may be left, and every trace must be sound.
"""
import os
import re
import shutil
import subprocess
import tempfile

from traced import (BUILD, LIBRARY, PATIENCE, RECORD, Skip, check, check_equal,
                    test)

REPORT = os.path.join(BUILD, "memprof-report")


def run_script(script, directory, trace):
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("MEMORY_PROFILER_", "MAKEFLAGS", "GIT_"))}
    env["TRACE"] = trace
    return subprocess.run(["bash", "-c", script], cwd=directory, env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, timeout=2 * PATIENCE, check=False)


def same_with_and_without(script, needs, prepare=None):
    for program in needs:
        if not shutil.which(program):
            raise Skip(program)
    results = []
    for traced in (False, True):
        directory = tempfile.mkdtemp(prefix="memprof-real-")
        try:
            if prepare:
                prepare(directory)
            traces = os.path.join(directory, "traces")
            os.mkdir(traces)
            os.chmod(traces, 0o777)
            run = run_script(script, directory,
                             f"{RECORD} -q --children -o {traces}/t.dat --"
                             if traced else "")
            results.append((run.returncode, run.stdout.decode(
                errors="replace").replace(directory, "")))
            if traced:
                check_traces(traces)
        finally:
            shutil.rmtree(directory, ignore_errors=True)
    check_equal(results[1], results[0], "with the tracer")


def check_traces(directory):
    names = sorted(os.listdir(directory))
    check(names, "no trace")
    check(not [n for n in names if n.endswith(".live")], names)
    for name in names:
        run = subprocess.run([REPORT, "--check",
                              os.path.join(directory, name)],
                             capture_output=True, text=True, check=False)
        check_equal(run.returncode, 0, run.stdout + run.stderr)


@test
def real_git():
    same_with_and_without("""
        exec 2>&1
        export HOME=$PWD GIT_CONFIG_NOSYSTEM=1 \\
            GIT_COMMITTER_DATE=@1000000000 GIT_AUTHOR_DATE=@1000000000
        git init -q r && cd r
        git config user.email a@b; git config user.name n
        git config gc.auto 0
        for i in 1 2 3 4 5 6 7 8; do
            seq $i 300 >f$i; git add .; git commit -qm c$i
        done
        $TRACE git gc -q; echo $?
        git fsck; git rev-parse HEAD; git count-objects
        """, ["git", "seq"])


@test
def real_compiler_and_make():
    same_with_and_without("""
        echo 'int f(int x) { return x * 3; }' >f.c
        printf '%s\\n' 'all: a.o b.o c.o d.o' '\tcat $^ | md5sum' \\
            '%.o: f.c' '\tgcc -O2 -c f.c -o $@' >Makefile
        $TRACE make -s -j4; echo $?
        $TRACE gcc -O2 -c missing.c; echo $?
        """, ["gcc", "make", "md5sum"])


@test
def real_redis():
    same_with_and_without("""
        s=$PWD/s
        $TRACE redis-server --port 0 --unixsocket $s --save '' \\
            --dir $PWD >log 2>&1 &
        p=$!
        for i in $(seq 3000); do
            redis-cli -s $s ping >/dev/null 2>&1 && break; sleep 0.1
        done
        redis-benchmark -s $s -n 2000 -q -t set,lpush,lrange_100 \\
            >/dev/null 2>&1
        for i in 1 2 3 4 5; do redis-cli -s $s append k $i; done
        redis-cli -s $s bgsave
        for i in $(seq 3000); do
            redis-cli -s $s info persistence |
                grep -q rdb_bgsave_in_progress:0 && break
            sleep 0.1
        done
        redis-cli -s $s info persistence | grep last_bgsave_status
        redis-cli -s $s dbsize
        redis-cli -s $s shutdown nosave
        wait $p; echo $?
        """, ["redis-server", "redis-cli", "redis-benchmark"])


@test
def real_nginx():
    if os.geteuid() != 0:
        raise Skip("being root")
    same_with_and_without("""
        cat >conf <<END
        worker_processes 2; pid $PWD/pid; error_log $PWD/log; daemon off;
        user root;
        events { worker_connections 64; }
        http { access_log off; client_body_temp_path $PWD/b;
            proxy_temp_path $PWD/p; fastcgi_temp_path $PWD/f;
            uwsgi_temp_path $PWD/u; scgi_temp_path $PWD/s;
            server { listen unix:$PWD/sock;
                location / { return 200 "hello\\n"; } } }
END
        $TRACE nginx -p $PWD -c $PWD/conf &
        p=$!
        for i in $(seq 3000); do
            curl -s --unix-socket $PWD/sock http://x/ && break; sleep 0.1
        done
        kill -HUP $(cat pid)
        for i in 1 2 3 4 5 6 7 8 9 10; do
            curl -s --unix-socket $PWD/sock http://x/; sleep 0.02
        done
        kill -QUIT $(cat pid)
        wait $p; echo $?
        cat log
        """, ["nginx", "curl"])


@test
def real_postgresql():
    bins = sorted(os.listdir("/usr/lib/postgresql")
                  if os.path.isdir("/usr/lib/postgresql") else [])
    if not bins or os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("PostgreSQL, being root")
    as_user = "setpriv --reuid=postgres --regid=postgres --clear-groups"
    if subprocess.run(f"{as_user} test -r {LIBRARY}", shell=True,
                      check=False, stderr=subprocess.DEVNULL).returncode:
        raise Skip("a build directory that everybody can read")

    def give_away(directory):
        shutil.chown(directory, "postgres")

    same_with_and_without(f"""
        bin=/usr/lib/postgresql/{bins[-1]}/bin
        export TRACE
        exec {as_user} bash -c '
        $0/initdb -D d -A trust --no-sync --locale=C >/dev/null 2>&1; echo $?
        $TRACE $0/postgres -D d -k $PWD -c listen_addresses= -c fsync=off \\
            >log 2>&1 &
        p=$!
        sql() {{ $0/psql -h $PWD postgres -Atc "$1"; }}
        for i in $(seq 3000); do
            sql "select 1" 2>/dev/null && break; sleep 0.1
        done
        sql "create table t as select g, md5(g::text) m
             from generate_series(1, 20000) g; create index on t(m);
             select count(*), sum(g) from t where m > chr(97)"
        sql "select pg_terminate_backend(pg_backend_pid())" 2>&1
        sql "select count(distinct m) from t"
        kill -INT $p; wait $p; echo $?' $bin
        """, ["bash"], give_away)


@test
def real_node():
    same_with_and_without("""
        cat >w.js <<'END'
        const {Worker, isMainThread, parentPort} = require('worker_threads');
        if (isMainThread) {
            for (let i = 0; i < 2; i++)
                new Worker(__filename).on('message', m => console.log(m));
        } else {
            let a = [];
            for (let i = 0; i < 5000; i++) a.push(JSON.stringify({i}));
            parentPort.postMessage(a.join().length);
        }
END
        exec 2>/dev/null
        $TRACE node w.js; echo $?
        $TRACE node -e 'process.abort()'; echo $?
        """, ["node"])


@test
def real_java():
    same_with_and_without("""
        cat >T.java <<'END'
        import java.util.*;
        public class T {
            public static void main(String[] a) throws Exception {
                Thread[] t = new Thread[4];
                for (int k = 0; k < 4; k++) {
                    t[k] = new Thread(() -> {
                        byte[][] x = new byte[100][];
                        for (int i = 0; i < 20000; i++)
                            x[i % 100] = new byte[1000];
                    });
                    t[k].start();
                }
                for (Thread x : t) x.join();
                var d = new java.util.zip.Deflater();
                d.setInput(new byte[100000]);
                d.finish();
                System.out.println(d.deflate(new byte[1000]));
                d.end();
                System.exit(3);
            }
        }
END
        javac T.java && $TRACE java T; echo $?
        """, ["java", "javac"])


# (func $f (import "h" "f"))
# (func (export "churn") (param i32)
#   (loop (call $f) (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))))
WASM = """
    const bytes = [0, 97, 115, 109, 1, 0, 0, 0, 1, 8, 2, 96, 0, 0, 96, 1, 127,
        0, 2, 7, 1, 1, 104, 1, 102, 0, 0, 3, 2, 1, 1, 7, 9, 1, 5, 99, 104, 117,
        114, 110, 0, 1, 10, 18, 1, 16, 0, 3, 64, 16, 0, 32, 0, 65, 1, 107, 34,
        0, 13, 0, 11, 11];
    let n = 0;
    const f = () => { n += Buffer.allocUnsafeSlow(100003).length; };
    new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(bytes)),
                             {h: {f}}).exports.churn(500);
    console.log(n);
"""


@test
def real_wasm():
    """What the host allocates for WebAssembly: through its code, and with the
    name that node's list has for it, to main."""
    node = shutil.which("node")
    if not node:
        raise Skip("node")
    directory = tempfile.mkdtemp(prefix="memprof-real-")
    try:
        path = os.path.join(directory, "t.dat")
        run = subprocess.run([RECORD, "-q", "-o", path, "--", node,
                              "--perf-basic-prof", "-e", WASM],
                             capture_output=True, cwd=directory, check=False)
        check_equal((run.returncode, run.stdout), (0, b"50001500\n"), run.stderr)
        listed = subprocess.run([REPORT, "--list", path], check=True,
                                capture_output=True, text=True).stdout
        pid, = re.findall(r"process +(\d+),", listed)
        os.unlink(f"/tmp/perf-{pid}.map")
        folded = subprocess.run(
            [REPORT, "--quiet", "--view", "size_min=100003&size_max=100003",
             "--as", "folded", path], capture_output=True, text=True,
            check=True).stdout.splitlines()
        if not folded:
            raise Skip("buffers of node that are blocks of malloc")
        stacks = [line.split(";") for line in folded]
        for stack in stacks:
            check(any("wasm-function" in frame for frame in stack), stack)
            check(any("libc_start_main" in frame for frame in stack), stack)
        check_equal(sum(int(stack[-1].rpartition(" ")[2]) for stack in stacks),
                    500 * 100003)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


# 20,000 blocks by code that LuaJIT generates, and as many by its interpreter.
LUA = """
    local ffi = require 'ffi'
    ffi.cdef 'void *malloc(size_t); void free(void *);'
    local function churn(size)
        for i = 1, 20000 do ffi.C.free(ffi.C.malloc(size)) end
    end
    churn(100003)
    jit.off(churn, true)
    churn(100005)
    local yield = coroutine.wrap(function()
        for i = 1, 1000 do coroutine.yield(('x'):rep(i)) end
    end)
    local sum = 0
    for i = 1, 1000 do sum = sum + #yield() end
    print(sum, pcall(error, 'caught'))
"""


@test
def real_luajit():
    """Stacks end at the code that it generates, for which it tells no rule;
    through its interpreter they lead to main."""
    with tempfile.TemporaryDirectory(prefix="memprof-real-") as directory:
        if not shutil.which("luajit"):
            raise Skip("luajit")
        path = os.path.join(directory, "t.dat")
        run = subprocess.run([RECORD, "-q", "-o", path, "luajit", "-e", LUA],
                             capture_output=True, check=False)
        check_equal((run.returncode, run.stdout, run.stderr),
                    (0, b"500500\tfalse\tcaught\n", b""))
        check_traces(directory)
        for size, leads_to_main in ((100003, False), (100005, True)):
            folded = subprocess.run(
                [REPORT, "--quiet", "--view", f"size_min={size}&size_max={size}",
                 "--as", "folded", path], capture_output=True, text=True,
                check=True).stdout.splitlines()
            check_equal(sum(int(line.rpartition(" ")[2]) for line in folded),
                        20000 * size)
            if leads_to_main:
                check(all("libc_start_main" in line for line in folded), folded)
