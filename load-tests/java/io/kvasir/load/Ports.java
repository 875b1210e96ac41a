package io.kvasir.load;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

/** Ports for what has to know its own before it starts; all else asks for port 0. */
public final class Ports {
  /** Those that systems give to connections begin at 32,768: one of them is lost to a process that comes back to it. */
  private static final int LEAST = 10_000;

  private static final int COUNT = 22_000;
  private static final AtomicInteger NEXT = new AtomicInteger(ThreadLocalRandom.current().nextInt(COUNT));

  private Ports() {}

  /** A port of the loopback address on which nothing listens now; another one each time. */
  public static int free() {
    int port;
    do {
      port = LEAST + Math.floorMod(NEXT.getAndIncrement(), COUNT);
    } while (!isFree(port));
    return port;
  }

  /** The first of so many ports in a row on which nothing listens now. */
  public static int inARow(int count) {
    int first;
    do {
      first = LEAST + Math.floorMod(NEXT.getAndAdd(count), COUNT - count);
    } while (!IntStream.range(first, first + count).allMatch(Ports::isFree));
    return first;
  }

  private static boolean isFree(int port) {
    try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
      return socket.isBound();
    } catch (IOException taken) {
      return false;
    }
  }
}
