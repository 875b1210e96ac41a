package io.kvasir.gateway.http;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import org.apache.pekko.actor.typed.ActorSystem;

/** The listener. Thread-safe. */
public final class HttpServer implements AutoCloseable {
  private HttpServer() {}

  /**
   * Binds and begins to accept.
   *
   * @throws IOException when the address cannot be bound; the message names it
   */
  public static HttpServer start(ActorSystem<?> system, HttpSettings settings, Handler handler) throws IOException {
    throw new UnsupportedOperationException("not built yet");
  }

  /** The address bound, with its real port. */
  public InetSocketAddress address() {
    throw new UnsupportedOperationException("not built yet");
  }

  /** Stops accepting, lets running exchanges finish within {@code grace}, then closes what is left. Blocks. */
  public void drain(Duration grace) {
    throw new UnsupportedOperationException("not built yet");
  }

  /** Closes everything at once. */
  @Override
  public void close() {
    drain(Duration.ZERO);
  }
}
