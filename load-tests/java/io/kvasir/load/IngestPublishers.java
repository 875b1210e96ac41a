package io.kvasir.load;

import com.sun.net.httpserver.HttpServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ.Socket;

/**
 * The engines of {@code load-tests/ingest}, in a process of their own: a PUB socket each, as vLLM has it but for one
 * thing: where vLLM's drops what a subscriber is too slow for, these wait, so that the rate is what the router takes.
 * Prints its ports, publishes on "go", and on "stop" prints how many steps each engine has published.
 */
public final class IngestPublishers {
  private static final byte[] TOPIC = new byte[0];

  private final List<Socket> sockets = new ArrayList<>();
  private final List<List<byte[]>> payloads = new ArrayList<>();
  private volatile boolean stopped;

  private IngestPublishers() {}

  /** Arguments: engines, steps of a cycle, events a second in all (0: as fast as they are taken). */
  public static void main(String[] arguments) throws Exception {
    int engines = Integer.parseInt(arguments[0]);
    int length = Integer.parseInt(arguments[1]);
    double rate = Double.parseDouble(arguments[2]);
    new IngestPublishers().run(engines, length, rate);
  }

  private void run(int engines, int length, double rate) throws Exception {
    try (ZContext context = new ZContext(1)) {
      StringBuilder ports = new StringBuilder("ports " + health());
      for (int i = 0; i < engines; i++) {
        payloads.add(new IngestScenario(i, length).payloads());
        Socket socket = context.createSocket(SocketType.XPUB);
        socket.setXpubNoDrop(true);
        socket.setSndHWM(1000);
        socket.setLinger(0);
        socket.setHandshakeIvl(1000);
        ports.append(' ').append(socket.bindToRandomPort("tcp://127.0.0.1"));
        sockets.add(socket);
      }
      System.out.println(ports);
      for (Socket socket : sockets) {
        byte[] _ = socket.recv();
      }
      BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      System.out.println("subscribed");
      String _ = commands.readLine();
      Thread listener =
          Thread.ofPlatform()
              .daemon()
              .start(
                  () -> {
                    try {
                      String _ = commands.readLine();
                    } catch (IOException e) {
                      // The parent process has ended.
                    }
                    stopped = true;
                  });
      long published = publish(engines, rate);
      listener.join();
      System.out.println("published " + published);
      String _ = commands.readLine();
    }
  }

  /** All engines take turns; returns the steps of each. */
  private long publish(int engines, double rate) {
    long begun = System.nanoTime();
    long step = 0;
    double perStep = rate == 0 ? 0 : engines * IngestScenario.EVENTS / rate * 1e9;
    while (!stopped) {
      double now = System.currentTimeMillis() / 1e3;
      byte[] number = ByteBuffer.allocate(Long.BYTES).putLong(step).array();
      for (int i = 0; i < engines; i++) {
        List<byte[]> cycle = payloads.get(i);
        byte[] payload = cycle.get((int) (step % cycle.size())).clone();
        ByteBuffer.wrap(payload).putDouble(2, now);
        Socket socket = sockets.get(i);
        socket.sendMore(TOPIC);
        socket.sendMore(number);
        socket.send(payload);
      }
      step++;
      long wait = (long) (begun + step * perStep) - System.nanoTime();
      if (wait > 100_000) {
        LockSupport.parkNanos(wait);
      }
    }
    return step;
  }

  /** Where all engines say that they are well. */
  private static int health() throws IOException {
    HttpServer http = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    http.createContext(
        "/",
        exchange -> {
          exchange.sendResponseHeaders(200, -1);
          exchange.close();
        });
    http.start();
    return http.getAddress().getPort();
  }
}
