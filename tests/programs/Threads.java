// SPDX-License-Identifier: MIT
// Native allocations below compiled code, from several threads at once.
import java.util.zip.Deflater;

public class Threads {
    static int dive(int depth) {
        if (depth > 0)
            return dive(depth - 1) + 1;
        Deflater deflater = new Deflater();
        deflater.setInput(new byte[1000]);
        deflater.finish();
        int length = deflater.deflate(new byte[2000]);
        deflater.end();
        return length;
    }

    static void run() {
        long sum = 0;
        for (int i = 0; i < 10000; i++)
            sum += dive(i % 40);
        System.out.println(sum);
    }

    public static void main(String[] arguments) throws Exception {
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(Threads::run);
            threads[i].start();
        }
        for (Thread thread : threads)
            thread.join();
    }
}
