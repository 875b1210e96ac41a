package io.kvasir.events;

import io.nats.client.Connection;
import io.nats.client.ErrorListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Puts what the NATS client has to say into the log; what ends a session comes out of the session as well. */
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
