package io.kvasir.execution.stream;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class UsageFilterTest {
  private static final String USAGE =
      "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2}}\n\n";
  private static final String BEFORE =
      "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":null}\n\n: still here\n\n";
  private static final String AFTER = "data: [DONE]\n\n";

  @Test
  void usageEvent_whereverCut_isKeptBackAndNothingElse() throws IOException {
    Random random = new Random(3);
    byte[] bytes = (BEFORE + USAGE + AFTER).getBytes(StandardCharsets.UTF_8);
    for (int round = 0; round < 500; round++) {
      assertThat(filtered(bytes, random, 30)).isEqualTo(BEFORE + AFTER);
    }
  }

  @Test
  void usageEvent_atTheEndWithoutBlankLine_isKeptBack() throws IOException {
    byte[] bytes = (BEFORE + USAGE.stripTrailing() + "\n").getBytes(StandardCharsets.UTF_8);

    assertThat(filtered(bytes, new Random(4), 1000)).isEqualTo(BEFORE);
  }

  @Test
  void unfinishedEvent_passesAtTheEnd() throws IOException {
    String cut = BEFORE + "data: {\"choi";

    assertThat(filtered(cut.getBytes(StandardCharsets.UTF_8), new Random(5), 9)).isEqualTo(cut);
  }

  @Test
  void longEvents_passWhole() throws IOException {
    String text = "data: {\"choices\":[{\"delta\":{\"content\":\"" + "x".repeat(100_000) + "\"}}]}\n\n" + AFTER;

    assertThat(filtered(text.getBytes(StandardCharsets.UTF_8), new Random(6), 20_000)).isEqualTo(text);
  }

  /** One write to the socket for what comes together: a stream costs no more calls than without the filter. */
  @Test
  void eventsThatComeTogether_areWrittenTogether() throws IOException {
    List<String> writes = new ArrayList<>();
    UsageFilter filter =
        new UsageFilter((bytes, from, count) -> writes.add(new String(bytes, from, count, StandardCharsets.UTF_8)));
    byte[] bytes = (BEFORE + BEFORE + USAGE + AFTER + AFTER).getBytes(StandardCharsets.UTF_8);

    filter.write(bytes, 0, bytes.length);
    filter.end();

    assertThat(writes).containsExactly(BEFORE + BEFORE, AFTER + AFTER);
  }

  @Test
  void strip_removesTheUsageEventOfAWholeStream() {
    byte[] stream = (BEFORE + USAGE + AFTER).getBytes(StandardCharsets.UTF_8);

    assertThat(new String(UsageFilter.strip(stream), StandardCharsets.UTF_8)).isEqualTo(BEFORE + AFTER);
  }

  private static String filtered(byte[] bytes, Random random, int longest) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    UsageFilter filter = new UsageFilter(out::write);
    for (int at = 0; at < bytes.length; ) {
      int count = Math.min(bytes.length - at, 1 + random.nextInt(longest));
      filter.write(bytes, at, count);
      at += count;
    }
    filter.end();
    return out.toString(StandardCharsets.UTF_8);
  }
}
