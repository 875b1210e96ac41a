package io.kvasir.events;

import io.kvasir.time.NanoClock;
import io.nats.client.Connection;
import io.nats.client.JetStreamApiException;
import io.nats.client.JetStreamManagement;
import io.nats.client.api.MessageInfo;
import io.nats.client.api.StreamInfo;
import io.nats.client.api.StreamInfoOptions;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A trial of a NATS JetStream: messages are looked up one by one, without a consumer. */
final class NatsTrial implements FeedTrial {
  private static final int NO_MESSAGE = 404;
  private static final int MOST = 256;
  private static final long PAUSE_MILLIS = 20;

  private final NatsEndpoint endpoint;
  private final NatsConnections connections = new NatsConnections(NanoClock.SYSTEM);
  private final PayloadDecoder decoder = new PayloadDecoder();
  private @Nullable JetStreamManagement management;
  private String stream = "";
  private long last;

  NatsTrial(NatsEndpoint endpoint) {
    this.endpoint = endpoint;
  }

  @Override
  public String place() {
    return "the subject " + endpoint.description();
  }

  @Override
  public long begin() throws IOException, InterruptedException {
    Connection connection = connections.to(endpoint).connect();
    management = connection.jetStreamManagement();
    try {
      StreamInfo info = NatsTransport.stream(endpoint, management);
      stream = info.getConfiguration().getName();
      StreamInfo counted =
          management.getStreamInfo(stream, StreamInfoOptions.filterSubjects(endpoint.subject()));
      last = counted.getStreamState().getLastSequence();
      var counts = counted.getStreamState().getSubjectMap();
      return counts == null ? 0 : counts.getOrDefault(endpoint.subject(), 0L);
    } catch (JetStreamApiException refused) {
      throw new IOException("JetStream refuses: " + refused.getErrorDescription(), refused);
    }
  }

  @Override
  public List<DecodedMessage> next(Duration timeout) throws IOException, InterruptedException {
    long deadline = System.nanoTime() + timeout.toNanos();
    List<DecodedMessage> messages = new ArrayList<>();
    while (messages.size() < MOST) {
      MessageInfo message = following();
      if (message != null) {
        last = message.getSeq();
        byte[] payload = message.getData();
        messages.add(decoder.decode(KvBatch.UNSEQUENCED, payload == null ? new byte[0] : payload));
      } else if (!messages.isEmpty() || System.nanoTime() - deadline >= 0) {
        break;
      } else {
        TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
      }
    }
    return messages;
  }

  private @Nullable MessageInfo following() throws IOException {
    if (management == null) {
      throw new IOException("not connected");
    }
    try {
      return management.getNextMessage(stream, last + 1, endpoint.subject());
    } catch (JetStreamApiException refused) {
      if (refused.getErrorCode() == NO_MESSAGE) {
        return null;
      }
      throw new IOException("JetStream refuses: " + refused.getErrorDescription(), refused);
    }
  }

  @Override
  public void close() {
    connections.close();
  }
}
