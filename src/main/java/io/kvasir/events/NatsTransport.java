package io.kvasir.events;

import io.nats.client.Connection;
import io.nats.client.ConsumeOptions;
import io.nats.client.ConsumerContext;
import io.nats.client.IterableConsumer;
import io.nats.client.JetStreamApiException;
import io.nats.client.JetStreamManagement;
import io.nats.client.Message;
import io.nats.client.api.AckPolicy;
import io.nats.client.api.ConsumerConfiguration;
import io.nats.client.api.DeliverPolicy;
import io.nats.client.api.StreamInfo;
import io.nats.client.impl.Headers;
import io.nats.client.impl.NatsJetStreamMetaData;
import java.io.IOException;
import java.time.Duration;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * The transport of events kept in a NATS JetStream, one subject a worker. A message's payload is a batch, msgpack or
 * JSON; its number is the engine's where the header {@link KvBatch#SEQUENCE_HEADER} (or the JSON's {@code seq}) has it,
 * else JetStream's own where the stream holds only this subject; else there is none, and losses in JetStream go
 * unnoticed.
 *
 * <p>Reads through a durable pull consumer, created again with each session after the last message that was taken:
 * messages in flight when a connection broke would else arrive late and out of order. A durable consumer shows
 * operators how far the router lags; the server removes the one of a router that died.
 */
final class NatsTransport implements Puller.Transport {
  /** Messages that are asked for ahead, and that are acknowledged together. */
  private static final int BATCH = 256;

  // One subscription for a session: the answers to single requests that expire may be lost as they do.
  private static final ConsumeOptions READING = ConsumeOptions.builder().batchSize(BATCH).expiresIn(10_000).build();
  private static final Duration WAIT = Duration.ofSeconds(1);
  private static final Duration INACTIVE_THRESHOLD = Duration.ofMinutes(5);
  private static final int UNACKNOWLEDGED = 4096;

  private final NatsEndpoint endpoint;
  private final ConnectionSupplier connector;
  private final String consumerName;
  /** Stream sequence of the last message taken, 0 before the first. */
  private long last;

  /** Supplies the connection. */
  @FunctionalInterface
  interface ConnectionSupplier {
    /**
     * The connection to the endpoint's servers.
     *
     * @throws IOException when there is no connection now
     */
    Connection connect() throws IOException, InterruptedException;
  }

  NatsTransport(NatsEndpoint endpoint, ConnectionSupplier connector) {
    this.endpoint = endpoint;
    this.connector = connector;
    this.consumerName =
        "kvasir-%s-%08x"
            .formatted(endpoint.worker().replaceAll("[^A-Za-z0-9_-]", "_"), ThreadLocalRandom.current().nextInt());
  }

  @Override
  public Puller.Session open(Inbox inbox) throws Exception {
    Connection connection = connector.connect();
    JetStreamManagement management = connection.jetStreamManagement();
    StreamInfo stream = stream(endpoint, management);
    if (stream.getStreamState().getLastSequence() < last) {
      // Another stream: its numbers began again.
      last = 0;
    }
    remove(management, stream);
    ConsumerContext consumer = connection.getStreamContext(stream.getConfiguration().getName())
        .createOrUpdateConsumer(consumer());
    inbox.connected(true);
    if (consumer.getConsumerInfo().getNumPending() == 0) {
      inbox.caughtUp();
    }
    boolean singleSubject = stream.getConfiguration().getSubjects().equals(List.of(endpoint.subject()));
    return new NatsSession(connection, management, stream, consumer.iterate(READING), inbox, singleSubject);
  }

  /** The stream that keeps an endpoint's subject. */
  static StreamInfo stream(NatsEndpoint endpoint, JetStreamManagement management)
      throws IOException, JetStreamApiException {
    if (!endpoint.stream().isEmpty()) {
      return management.getStreamInfo(endpoint.stream());
    }
    List<String> names = management.getStreamNames(endpoint.subject());
    if (names.size() != 1) {
      throw new IOException(
          names.isEmpty()
              ? "no stream has the subject " + endpoint.subject()
              : "several streams have the subject " + endpoint.subject() + ": name one");
    }
    return management.getStreamInfo(names.getFirst());
  }

  private ConsumerConfiguration consumer() {
    ConsumerConfiguration.Builder consumer =
        ConsumerConfiguration.builder()
            .durable(consumerName)
            .description("Kvasir reads the cache events of " + endpoint.worker())
            .filterSubject(endpoint.subject())
            .ackPolicy(AckPolicy.All)
            .maxAckPending(UNACKNOWLEDGED)
            .inactiveThreshold(INACTIVE_THRESHOLD);
    return last > 0
        ? consumer.deliverPolicy(DeliverPolicy.ByStartSequence).startSequence(last + 1).build()
        : consumer
            .deliverPolicy(DeliverPolicy.ByStartTime)
            .startTime(ZonedDateTime.now(ZoneOffset.UTC).minus(endpoint.history()))
            .build();
  }

  private void remove(JetStreamManagement management, StreamInfo stream) throws IOException {
    try {
      management.deleteConsumer(stream.getConfiguration().getName(), consumerName);
    } catch (JetStreamApiException none) {
      // There is none yet.
    }
  }

  private final class NatsSession implements Puller.Session {
    private final Connection connection;
    private final JetStreamManagement management;
    private final StreamInfo stream;
    private final IterableConsumer messages;
    private final Inbox inbox;
    private final boolean singleSubject;
    private long delivered;
    private long acknowledged;

    NatsSession(
        Connection connection,
        JetStreamManagement management,
        StreamInfo stream,
        IterableConsumer messages,
        Inbox inbox,
        boolean singleSubject) {
      this.connection = connection;
      this.management = management;
      this.stream = stream;
      this.messages = messages;
      this.inbox = inbox;
      this.singleSubject = singleSubject;
    }

    @Override
    public void poll() throws Exception {
      Message next = messages.nextMessage(WAIT);
      if (next != null) {
        take(next);
        boolean isLast = next.metaData().pendingCount() == 0;
        if (isLast) {
          inbox.caughtUp();
        }
        if (isLast || delivered - acknowledged >= BATCH) {
          next.ack();
          acknowledged = delivered;
        }
      } else if (connection.getStatus() != Connection.Status.CONNECTED) {
        throw new IOException("the connection was lost");
      } else {
        // Some servers count messages as pending that are older than the consumer's start.
        inbox.caughtUp();
      }
    }

    private void take(Message message) throws IOException {
      NatsJetStreamMetaData metadata = message.metaData();
      if (metadata.consumerSequence() != delivered + 1) {
        throw new IOException(
            "deliveries %d to %d are missing".formatted(delivered + 1, metadata.consumerSequence() - 1));
      }
      delivered++;
      if (metadata.streamSequence() <= last) {
        inbox.metrics().duplicate();
        return;
      }
      last = metadata.streamSequence();
      long number = engineNumber(message.getHeaders());
      if (number == KvBatch.UNSEQUENCED && singleSubject) {
        number = last - 1;
      }
      inbox.message(number, message.getData());
    }

    private long engineNumber(@Nullable Headers headers) {
      String text = headers == null ? null : headers.getFirst(KvBatch.SEQUENCE_HEADER);
      if (text != null) {
        try {
          long number = Long.parseLong(text);
          if (number >= 0) {
            return number;
          }
        } catch (NumberFormatException e) {
          // counted below
        }
        inbox.metrics().misframed();
      }
      return KvBatch.UNSEQUENCED;
    }

    @Override
    public void close() throws IOException {
      try {
        messages.close();
      } catch (InterruptedException stopping) {
        Thread.currentThread().interrupt();
      } catch (Exception failed) {
        throw new IOException("the subscription could not be closed", failed);
      }
      if (connection.getStatus() == Connection.Status.CONNECTED) {
        remove(management, stream);
      }
    }
  }
}
