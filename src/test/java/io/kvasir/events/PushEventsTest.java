package io.kvasir.events;

import static io.kvasir.Await.await;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import org.junit.jupiter.api.Test;

/** Bodies as an engine's sidecar pushes them; the way over HTTP is tested with the whole node. */
final class PushEventsTest extends SourceConformance {
  private final PushEvents events = transports.push();

  @Override
  EventSource source() {
    return open(new EventFeed.Push("secret"), 0, 1);
  }

  @Override
  void publish(long number, byte[] payload) {
    byte[] body = payload;
    if (PayloadDecoder.isJson(payload)) {
      body = ("{\"seq\":" + number + "," + new String(payload, UTF_8).substring(1) + "\n").getBytes(UTF_8);
    }
    byte[] sent = body;
    await("there is a stream, and room for the batch", () -> {
      PushResult pushed = push(number, sent);
      assertThat(pushed)
          .isInstanceOfAny(PushResult.Accepted.class, PushResult.Full.class, PushResult.NotSubscribed.class);
      return pushed instanceof PushResult.Accepted;
    });
  }

  @Override
  void unreadable(long number) {
    assertThat(push(number, new byte[] {(byte) 0x93, 1})).isInstanceOf(PushResult.Malformed.class);
  }

  /** Nothing is known of an engine before its first push. */
  @Override
  void begun(TestStream stream) {
    await(() -> events.accepts("pod"));
    assertThat(push("{\"events\": []}")).isEqualTo(new PushResult.Accepted(1, 0, true));
    stream.expect("up", "gap0", "ok");
  }

  @Test
  void aBody_isTakenWhole_orNotAtAll() {
    TestStream stream = subscribe();
    begun(stream);
    assertThat(push(line(0) + "\n\n" + line(1) + "\r\n{\"seq\": 2, \"events\": [{\"type\": \"BlockRemoved\"}]}"))
        .isEqualTo(new PushResult.Malformed(4,
            "events[0].block_hashes: has to be a list of block hashes; it is missing"));
    assertThat(push("{\"seq\": ")).isInstanceOf(PushResult.Malformed.class);
    assertThat(push("{\"seq\": -1, \"events\": []}"))
        .isEqualTo(new PushResult.Malformed(1, "seq: has to be a whole number of at least 0, not -1"));
    assertThat(push(line(0) + "\n" + line(1) + "\n")).isEqualTo(new PushResult.Accepted(2, 2, true));
    stream.expect("0", "1");
  }

  @Test
  void msgpackBatches_mayFollowOneAnother() {
    TestStream stream = subscribe();
    begun(stream);
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    for (int i = 0; i < 3; i++) {
      body.writeBytes(TestBatches.msgpack(i, 0, 0));
    }
    assertThat(push(0, body.toByteArray())).isEqualTo(new PushResult.Accepted(3, 3, true));
    stream.expect("0", "1", "2");
    body.writeBytes(new byte[] {(byte) 0x93, 1});
    assertThat(push(3, body.toByteArray()))
        .isInstanceOfSatisfying(PushResult.Malformed.class, malformed -> assertThat(malformed.line()).isEqualTo(4));
  }

  @Test
  void whatIsMissing_isTold_untilTheEngineTellsEverythingAnew() {
    TestStream stream = subscribe();
    begun(stream);
    assertThat(push(line(3))).isEqualTo(new PushResult.Accepted(1, 4, false));
    stream.expect("gap0", "lost0-2", "3");
    assertThat(push("{\"seq\": 4, \"events\": [{\"type\": \"AllBlocksCleared\"}]}"))
        .isEqualTo(new PushResult.Accepted(1, 5, true));
  }

  /** Its sender has not had the answer; none of its batches has a time that would show it. */
  @Test
  void aBodyThatIsPushedAgain_isNoRestart_alsoWithMoreBehindIt() {
    TestStream stream = subscribe();
    begun(stream);
    String body = untimed(0, "GPU") + untimed(1, "GPU") + untimed(2, "GPU");
    assertThat(push(body)).isEqualTo(new PushResult.Accepted(3, 3, true));
    assertThat(push(body)).isEqualTo(new PushResult.Accepted(3, 3, true));
    assertThat(push(body + untimed(3, "GPU"))).isEqualTo(new PushResult.Accepted(4, 4, true));
    stream.expect("0", "1", "2", "3");
    assertThat(metric("kvasir_events_duplicates")).isEqualTo(6);
  }

  @Test
  void aBodyOfTheSameNumbers_withOtherEvents_isOfAnEngineThatBeganAnew() {
    TestStream stream = subscribe();
    begun(stream);
    assertThat(push(untimed(0, "GPU") + untimed(1, "GPU"))).isEqualTo(new PushResult.Accepted(2, 2, true));
    assertThat(push(untimed(0, "CPU") + untimed(1, "CPU"))).isEqualTo(new PushResult.Accepted(2, 2, true));
    stream.expect("0", "1", "restart", "0", "1");
  }

  private static String untimed(long number, String medium) {
    return """
        {"seq": %d, "events": [{"type": "BlockRemoved", "block_hashes": [%d], "medium": "%s"}]}
        """
        .formatted(number, number, medium);
  }

  @Test
  void aWrongKey_andAnUnknownWorker_areRefused() {
    TestStream stream = subscribe();
    begun(stream);
    byte[] body = line(0).getBytes(UTF_8);
    assertThat(events.push("pod", null, KvBatch.UNSEQUENCED, body)).isInstanceOf(PushResult.Forbidden.class);
    assertThat(events.push("pod", "guess", KvBatch.UNSEQUENCED, body)).isInstanceOf(PushResult.Forbidden.class);
    assertThat(events.push("other", "secret", KvBatch.UNSEQUENCED, body)).isInstanceOf(PushResult.NotSubscribed.class);
    stream.close();
    await(() -> !events.accepts("pod"));
    assertThat(push(line(0))).isInstanceOf(PushResult.NotSubscribed.class);
  }

  private static String line(long number) {
    return "{\"seq\":" + number + "," + new String(TestBatches.json(number, 0), UTF_8).substring(1);
  }

  private PushResult push(String body) {
    return push(KvBatch.UNSEQUENCED, body.getBytes(UTF_8));
  }

  private PushResult push(long sequence, byte[] body) {
    return events.push("pod", "secret", sequence, body);
  }
}
