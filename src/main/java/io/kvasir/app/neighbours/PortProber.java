package io.kvasir.app.neighbours;

import io.kvasir.app.neighbours.NodeMessage.Endpoint;
import io.kvasir.app.neighbours.NodeMessage.Outcome;
import io.kvasir.app.neighbours.NodeMessage.PortProbe;
import java.io.EOFException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import javax.net.ssl.SSLException;

/** Tries connections from this node to ports of others. It says nothing on them, and closes them. Thread-safe. */
final class PortProber {
  /** More ports than this are not tried at a time. */
  private static final int AT_A_TIME = 32;

  private static final int CONNECT_MILLIS = 1_500;

  /** Nodes say nothing before the other side does; a proxy without a node behind it closes, as does who mistrusts. */
  private static final int QUIET_MILLIS = 300;

  private final String from;
  private final NodeTrust trust;
  private final Semaphore permits = new Semaphore(AT_A_TIME);

  /**
   * A prober.
   *
   * @param from the address that this node connects from, empty when the system may choose
   */
  PortProber(String from, NodeTrust trust) {
    this.from = from;
    this.trust = trust;
  }

  /** Tries all of them at the same time; in their order. Waits for them. */
  List<PortProbe> probe(List<Endpoint> endpoints) throws InterruptedException {
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<PortProbe>> running = new ArrayList<>();
      endpoints.forEach(endpoint -> running.add(threads.submit(() -> probeInTurn(endpoint))));
      List<PortProbe> done = new ArrayList<>();
      for (Future<PortProbe> probe : running) {
        done.add(probe.get());
      }
      return done;
    } catch (ExecutionException failed) {
      throw new IllegalStateException("a port could not be tried", failed.getCause());
    }
  }

  private PortProbe probeInTurn(Endpoint endpoint) throws InterruptedException {
    permits.acquire();
    try {
      return probe(endpoint);
    } finally {
      permits.release();
    }
  }

  private PortProbe probe(Endpoint to) {
    boolean secured = trust.expectsTls(to.port(), to.tls());
    if (secured != to.tls()) {
      return new PortProbe(
          to, Outcome.UNTRUSTED, to.tls() ? "it has TLS, and this node has none" : "it has no TLS, and this node has");
    }
    try (Socket tcp = new Socket()) {
      if (!from.isEmpty() && (to.port() == NodePort.CLUSTER || to.port() == NodePort.LINE)) {
        tcp.bind(new InetSocketAddress(from, 0));
      }
      tcp.connect(new InetSocketAddress(to.host(), to.number()), CONNECT_MILLIS);
      tcp.setSoTimeout(CONNECT_MILLIS);
      return quiet(to, tcp, secured ? trust.handshake(to.port(), tcp, to.host(), to.number()) : tcp);
    } catch (IOException failed) {
      return failed(to, failed, secured);
    }
  }

  private static PortProbe quiet(Endpoint to, Socket tcp, Socket socket) throws IOException {
    tcp.setSoTimeout(QUIET_MILLIS);
    try {
      return socket.getInputStream().read() < 0
          ? new PortProbe(to, Outcome.CUT, "the connection is closed at once")
          : new PortProbe(to, Outcome.OPEN, "");
    } catch (SocketTimeoutException waiting) {
      return new PortProbe(to, Outcome.OPEN, "");
    }
  }

  private static PortProbe failed(Endpoint to, IOException why, boolean secured) {
    String detail = String.valueOf(why.getMessage());
    return switch (why) {
      case SSLException _ -> new PortProbe(to, Outcome.UNTRUSTED, detail);
      case UnknownHostException _ ->
          new PortProbe(to, Outcome.SILENT, "the name " + to.host() + " is not known there");
      case SocketTimeoutException _ ->
          new PortProbe(to, Outcome.SILENT, "nothing came back in " + CONNECT_MILLIS + " ms");
      case ConnectException _ when detail.contains("refused") ->
          new PortProbe(to, Outcome.REFUSED, "the connection is refused");
      // Where one end mistrusts the other it may close before its alert is read.
      case EOFException _ -> new PortProbe(to, secured ? Outcome.UNTRUSTED : Outcome.CUT, detail);
      case SocketException _ when detail.contains("reset") ->
          new PortProbe(to, secured ? Outcome.UNTRUSTED : Outcome.CUT, detail);
      default -> new PortProbe(to, Outcome.SILENT, detail);
    };
  }
}
