package io.kvasir.events;

import io.nats.client.Connection;
import io.nats.client.ErrorListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The listener that logs errors of the NATS client; those that end a session are also thrown by the session. */
final class NatsErrors implements ErrorListener {
  private static final Logger LOG = LoggerFactory.getLogger(NatsErrors.class);

  @Override
  public void errorOccurred(Connection connection, String error) {
    LOG.warn("nats: {}", error);
  }

  @Override
  public void exceptionOccurred(Connection connection, Exception exception) {
    LOG.debug("nats", exception);
  }
}
