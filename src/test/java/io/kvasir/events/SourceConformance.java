package io.kvasir.events;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.pekko.Done;
import org.apache.pekko.stream.javadsl.Sink;
import org.apache.pekko.stream.javadsl.SinkQueueWithCancel;
import org.junit.jupiter.api.Test;

/** The behaviour of every source without replay, against a real or simulated server of its transport. */
abstract class SourceConformance extends TransportFixture {
  private int epoch;

  /** A source of the one worker's events. */
  abstract EventSource source();

  /** Publishes a message under the engine's number. */
  abstract void publish(long number, byte[] payload);

  /** Expects what a stream delivers before the first message. */
  void begun(TestStream stream) {
    stream.expect("up", "gap0", "ok");
  }

  @Test
  void messages_comeInOrder_whicheverNotation() {
    TestStream stream = subscribe();
    begun(stream);
    for (int i = 0; i < 500; i++) {
      publish(i, i % 2 == 0 ? TestBatches.msgpack(i, epoch, 0) : TestBatches.json(i, epoch));
    }
    assertThat(stream.numbersTo(499)).isEqualTo(IntStream.range(0, 500).mapToObj(i -> (long) i).toList());
    await(() -> metric("kvasir_events_queued_messages") == 0);
    assertThat(metric("kvasir_events_messages")).isEqualTo(500);
    assertThat(metric("kvasir_events_connections")).isEqualTo(1);
  }

  @Test
  void aMissingNumber_isLost_andARepeatedOneDropped() {
    TestStream stream = subscribe();
    begun(stream);
    publish(0);
    publish(1);
    publish(1);
    publish(4);
    publish(0);
    publish(5);
    stream.expect("0", "1", "gap2", "lost2-3", "4", "5");
    assertThat(metric("kvasir_events_duplicates")).isEqualTo(2);
    assertThat(metric("kvasir_events_lost_messages")).isEqualTo(2);
  }

  @Test
  void numbersThatGoBack_areAnEngineThatBeganAnew() {
    TestStream stream = subscribe();
    begun(stream);
    publish(0);
    publish(1);
    epoch++;
    publish(0);
    publish(1);
    stream.expect("0", "1", "restart", "0", "1");
  }

  @Test
  void whatCannotBeRead_isCounted_andLost() {
    TestStream stream = subscribe();
    begun(stream);
    publish(0);
    unreadable(1);
    publish(2);
    stream.expect("0");
    assertThat(stream.takeUntil("2")).contains("gap1", "lost1-1");
    assertThat(metric("kvasir_events_decode_faults")).isGreaterThanOrEqualTo(1);
  }

  /** Publishes a payload that is no batch. */
  void unreadable(long number) {
    publish(number, new byte[] {(byte) 0x93, 1});
  }

  @Test
  void aSlowTaker_bringsReadingToAHalt_andGetsEverything() throws Exception {
    SinkQueueWithCancel<KvBatch> slow =
        source().batches().runWith(Sink.<KvBatch>queue(1), system());
    int count = 6000;
    Thread publisher =
        Thread.ofVirtual()
            .start(
                () -> {
                  for (int i = 0; i < count; i++) {
                    publish(i, TestBatches.msgpack(i, 0, 1000));
                  }
                });
    // Reading halts at 1024; the stream itself may hold a few of those.
    await(() -> metric("kvasir_events_queued_messages") >= 1000);
    long next = 0;
    double maxQueued = 0;
    while (next < count) {
      KvBatch batch = slow.pull().toCompletableFuture().get(60, TimeUnit.SECONDS).orElseThrow();
      if (batch.sequence() >= 0) {
        assertThat(batch.sequence()).isEqualTo(next);
        next++;
      } else {
        assertThat(batch.events().getFirst()).isNotInstanceOf(KvEvent.GapAbandoned.class);
      }
      maxQueued = Math.max(maxQueued, metric("kvasir_events_queued_messages", next % 64 == 0));
    }
    assertThat(maxQueued).isLessThan(2048);
    publisher.join();
    slow.cancel();
  }

  @Test
  void cancelling_givesTheConnectionBack() {
    TestStream stream = subscribe();
    begun(stream);
    publish(0);
    stream.expect("0");
    stream.close();
    await(() -> metric("kvasir_events_connections") == 0);
    await(() -> metric("kvasir_events_queued_messages") == 0);
  }

  @Test
  void closingTheTransports_endsEveryStream() throws Exception {
    TestStream stream = subscribe();
    begun(stream);
    transports.close();
    assertThat(stream.finished()).isEqualTo(Done.getInstance());
    assertThat(subscribe().finished()).isEqualTo(Done.getInstance());
  }

  TestStream subscribe() {
    return subscribe(source());
  }

  /** Publishes the message with a number, as of the present epoch. */
  void publish(long number) {
    publish(number, TestBatches.msgpack(number, epoch, 0));
  }

  private double metric(String name, boolean measured) {
    return measured ? metric(name) : 0;
  }
}
