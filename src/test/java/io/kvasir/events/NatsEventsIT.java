package io.kvasir.events;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import io.nats.client.Connection;
import io.nats.client.JetStreamApiException;
import io.nats.client.Nats;
import io.nats.client.Options;
import io.nats.client.api.StorageType;
import io.nats.client.api.StreamConfiguration;
import io.nats.client.impl.Headers;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Against a real nats-server. */
final class NatsEventsIT extends SourceConformance {
  private static final String STREAM = "KV";
  private static final String SUBJECT = "kv.pod.0";

  @TempDir private Path directory = Path.of("");

  private TestServer server;

  private Connection publisher;

  private boolean numbered = true;

  @BeforeEach
  void startServer() throws Exception {
    server = open(TestServer.nats(directory));
    publisher = open(connect());
    stream(STREAM, "kv.>", -1);
  }

  @Override
  EventSource source() {
    return source("", Duration.ofHours(1));
  }

  private EventSource source(String stream, Duration history) {
    return open(new EventFeed.Nats(url(), stream, "kv.{pod}.{rank}", history, null), 0, 2);
  }

  @Override
  void publish(long number, byte[] payload) {
    try {
      Headers headers = new Headers();
      if (numbered) {
        headers.put(KvBatch.SEQUENCE_HEADER, Long.toString(number));
      }
      publisher.jetStream().publish(SUBJECT, headers, payload);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (JetStreamApiException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void history_isReadFromItsBeginning_byWhoComesLater() {
    for (int i = 0; i < 5; i++) {
      publish(i);
    }
    TestStream first = subscribe();
    first.expect("up", "gap0", "0", "ok", "1", "2", "3", "4");
    first.close();
    TestStream again = subscribe();
    again.expect("up", "gap0", "0", "ok", "1", "2", "3", "4");
  }

  @Test
  void history_goesBackAsFarAsConfigured() throws Exception {
    publish(0);
    publish(1);
    Duration age = Duration.ofMillis(20);
    // The server's clock is ours: what is asked for begins behind both messages.
    long end = System.nanoTime() + 5 * age.toNanos();
    await(() -> System.nanoTime() > end);
    TestStream stream = subscribe(source(STREAM, age));
    stream.expect("up", "gap0", "ok");
    publish(2);
    stream.expect("gap0", "lost0-1", "2");
  }

  @Test
  void aKilledServer_isReachedAgain_andNothingIsMissing() throws Exception {
    TestStream stream = subscribe();
    begun(stream);
    publish(0);
    publish(1);
    stream.expect("0", "1");
    server.kill();
    stream.expect("down");
    server.restart();
    await(() -> publisher.getStatus() == Connection.Status.CONNECTED);
    publish(2);
    stream.expect("up", "2");
    assertThat(metric("kvasir_events_reconnects")).isEqualTo(1);
  }

  @Test
  void withoutNumbers_aStreamOfItsOwn_countsByItself() throws Exception {
    numbered = false;
    publisher.jetStreamManagement().deleteStream(STREAM);
    stream("POD", SUBJECT, 3);
    for (int i = 0; i < 5; i++) {
      publish(i);
    }
    // The server keeps three messages.
    subscribe().expect("up", "gap0", "lost0-1", "2", "3", "4");
  }

  @Test
  void withoutNumbers_inASharedStream_thereAreNone() {
    numbered = false;
    publish(0);
    publish(1);
    subscribe().expect("up", "gap0", "-0", "ok", "-1");
  }

  @Test
  void aConsumer_showsOperatorsHowFarTheRouterIs_andGoesWithIt() throws Exception {
    TestStream stream = subscribe();
    begun(stream);
    publish(0);
    stream.expect("0");
    var consumers = publisher.jetStreamManagement().getConsumers(STREAM);
    assertThat(consumers)
        .singleElement()
        .satisfies(
            consumer -> {
              assertThat(consumer.getConsumerConfiguration().getDurable()).startsWith("kvasir-pod_0-");
              assertThat(consumer.getDelivered().getConsumerSequence()).isEqualTo(1);
            });
  }

  @Test
  void noStreamYet_isWaitedFor() throws Exception {
    publisher.jetStreamManagement().deleteStream(STREAM);
    TestStream stream = subscribe();
    stream(STREAM, "kv.>", -1);
    begun(stream);
    publish(0);
    stream.expect("0");
  }

  private void stream(String name, String subjects, long maxMessages) throws Exception {
    publisher
        .jetStreamManagement()
        .addStream(
            StreamConfiguration.builder()
                .name(name)
                .subjects(subjects)
                .storageType(StorageType.File)
                .maxMessages(maxMessages)
                .build());
  }

  private Connection connect() throws IOException, InterruptedException {
    return Nats.connect(
        new Options.Builder()
            .server(url())
            .maxReconnects(-1)
            .reconnectWait(Duration.ofMillis(50))
            .errorListener(new NatsErrors())
            .build());
  }

  private String url() {
    return "nats://127.0.0.1:" + server.port();
  }
}
