package io.kvasir.app.top;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class TopKeyTest {
  @Test
  void keys() throws IOException {
    assertThat(read("\tnsrj"))
        .containsExactly(
            new TopKey.NextParts(), new TopKey.Sort(ListOrder.NAME), new TopKey.Sort(ListOrder.STATE),
            new TopKey.Reverse(), TopKey.Scroll.DOWN, new TopKey.Quit());
  }

  @Test
  void everyFigure_hasAKeyOfItsOwn() throws IOException {
    for (WorkerFigure figure : WorkerFigure.values()) {
      assertThat(read(String.valueOf(figure.key()))).startsWith(new TopKey.Choose(figure));
    }
  }

  @Test
  void escapeSequences() throws IOException {
    assertThat(read("\u001b[A\u001bOB\u001b[5~\u001b[6~\u001b[H\u001b[4~\u001b[1;5A\u001b[15~z"))
        .containsExactly(
            TopKey.Scroll.UP, TopKey.Scroll.DOWN, TopKey.Scroll.PAGE_UP, TopKey.Scroll.PAGE_DOWN,
            TopKey.Scroll.TO_TOP, TopKey.Scroll.TO_END, TopKey.Scroll.UP, new TopKey.Other(), new TopKey.Other(),
            new TopKey.Quit());
  }

  @Test
  void endOfInput_quits() throws IOException {
    assertThat(read("")).containsExactly(new TopKey.Quit());
    assertThat(read("\u001b[")).endsWith(new TopKey.Quit());
  }

  /** The keys up to the one that quits. */
  private static List<TopKey> read(String typed) throws IOException {
    InputStream in = new ByteArrayInputStream(typed.getBytes(StandardCharsets.UTF_8));
    List<TopKey> keys = new ArrayList<>();
    do {
      keys.add(TopKey.read(in));
    } while (!keys.getLast().equals(new TopKey.Quit()));
    return keys;
  }
}
