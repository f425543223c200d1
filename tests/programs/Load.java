// SPDX-License-Identifier: MIT
// Native allocations below interpreted and compiled code, from threads that
// stay and threads that come and go.  Argument: seconds; not before LEAST turns.
import java.nio.ByteBuffer;
import java.util.regex.Pattern;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

public class Load {
    interface Job {
        int run(int i) throws Exception;
    }

    static final Job[] JOBS = {
        i -> {
            Deflater deflater = new Deflater();
            deflater.setInput(new byte[500 + i % 900]);
            deflater.finish();
            int length = deflater.deflate(new byte[2000]);
            deflater.end();
            return length;
        },
        i -> ByteBuffer.allocateDirect(100 + i % 5000).capacity(),
        i -> {
            CRC32 crc = new CRC32();
            crc.update(i);
            return (int) crc.getValue();
        },
        i -> {
            try {
                throw new IllegalStateException("x" + i);
            } catch (IllegalStateException e) {
                return e.getStackTrace().length;
            }
        },
        i -> new java.io.File("/proc/self/status").exists() ? 1 : 0,
        i -> Pattern.compile("a+b" + i % 50).matcher("aaab").find() ? 1 : 0,
        i -> java.lang.reflect.Proxy.newProxyInstance(
                Load.class.getClassLoader(), new Class<?>[] {Runnable.class},
                (proxy, method, arguments) -> 7).hashCode(),
        i -> Inflater.class.getMethods().length,
    };

    static int dive(int depth, int i) throws Exception {
        return depth > 0 ? dive(depth - 1, i) + 1 : JOBS[i % JOBS.length].run(i);
    }

    static final int LEAST = 40000;

    static void loop(long end) {
        long sum = 0;
        try {
            for (int i = 0; i % 100 > 0 || i < LEAST
                    || System.currentTimeMillis() < end; i++) {
                int job = i;
                sum += dive(i % 41, i);
                if (i % 5000 > 0)
                    continue;
                Thread thread = new Thread(() -> {
                    try {
                        dive(10, job);
                    } catch (Exception e) {
                        throw new IllegalStateException(e);
                    }
                });
                thread.start();
                thread.join();
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        System.out.println(sum);
    }

    public static void main(String[] arguments) throws Exception {
        long end = System.currentTimeMillis() + Long.parseLong(arguments[0]) * 1000;
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> loop(end));
            threads[i].start();
        }
        for (Thread thread : threads)
            thread.join();
        System.gc();
    }
}
