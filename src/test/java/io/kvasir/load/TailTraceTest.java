package io.kvasir.load;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.load.TenantClient.Answer;
import io.kvasir.load.TenantClient.End;
import java.net.URI;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

final class TailTraceTest {
  @Test
  void slowest_areTakenApartByWhatTheyWaitedFor() {
    List<Answer> quick = IntStream.range(0, 38).mapToObj(_ -> answer(100, 0, "expected-cost; depth=0/8")).toList();
    List<Answer> slow =
        List.of(
            answer(500, 237, "expected-cost; depth=0/8; candidates=2; waited=237; held=busy:210,turn:26"),
            answer(400, 100, "expected-cost; depth=0/8; waited=100; held=busy:100"));

    TailTrace trace = TailTrace.of(Stream.of(quick, slow).flatMap(List::stream).toList(), 0.05);

    assertThat(trace.text())
        .isEqualTo(
            "the slowest 2 took 450 ms: 169 in the room (busy 155, turn 13) and 282 from there to the first token");
  }

  private static Answer answer(double ttftMs, double queuedMs, String reason) {
    return new Answer("light-1", URI.create("http://h"), 0, 1, ttftMs, queuedMs, reason, 1, 0, 1, End.COMPLETE, "", "");
  }
}
