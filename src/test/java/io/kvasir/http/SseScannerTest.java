package io.kvasir.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Events are the same wherever a stream's bytes are cut, and as WHATWG has them. */
final class SseScannerTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          data: a\\n\\n                                | :a
          data:a\\r\\n\\r\\n                           | :a
          data: a\\r\\r                                | :a
          data:  a\\n\\n                               | : a
          data: a\\ndata: b\\n\\n                      | :a/b
          data: a\\ndata:\\ndata: b\\n\\n              | :a//b
          data: a\\n\\ndata: b\\n\\n                   | :a,:b
          event: e\\ndata: a\\n\\n                     | e:a
          data: a\\nevent: e\\n\\n                     | e:a
          event: d\\nevent: e\\ndata: a\\n\\ndata: b\\n\\n | e:a,:b
          event: e\\n\\ndata: a\\n\\n                  | :a
          : comment\\n\\n: another\\ndata: a\\n\\n     | :a
          id: 7\\nretry: 10\\ndata: a\\n\\n            | :a
          datax: no\\ndatabase: no\\ndat: no\\ndata: a\\n\\n | :a
          data: a: b\\n\\n                             | :a: b
          data\\n\\ndata: a\\n\\n                      | :a
          \\n\\n\\ndata: a\\n\\n\\n\\n                 | :a
          data: a                                      | :a
          data: a\\n\\ndata: b                         | :a,:b
          data: é\\n\\n                                | :é
          ''                                           | ''
          """)
  void events_areThoseOfTheStandard(String stream, String expected) throws IOException {
    String text = stream.replace("\\n", "\n").replace("\\r", "\r");
    String events = expected == null ? "" : expected;
    assertThat(read(text, new int[] {text.getBytes(UTF_8).length})).isEqualTo(events);
    assertThat(read(text, new int[] {1})).as("byte by byte").isEqualTo(events);
  }

  @Test
  void events_areTheSame_howeverTheStreamIsCut() throws IOException {
    Random random = new Random(1);
    for (int round = 0; round < 2000; round++) {
      String stream = stream(random);
      int length = stream.getBytes(UTF_8).length;
      String whole = read(stream, new int[] {Math.max(1, length)});
      int[] sizes = random.ints(10, 1, 12).toArray();
      assertThat(read(stream, sizes)).as(stream).isEqualTo(whole);
    }
  }

  @Test
  void acceptEvent_returnsTheEndOfEachEvent() {
    byte[] bytes = "data: a\n\ndata: b\r\n\r\ndata: c".getBytes(UTF_8);
    SseScanner scanner = new SseScanner(new Data());
    int first = scanner.acceptEvent(bytes, 0, bytes.length);
    int second = scanner.acceptEvent(bytes, first, bytes.length);
    assertThat(new String(bytes, 0, first, UTF_8)).isEqualTo("data: a\n\n");
    assertThat(new String(bytes, first, second - first, UTF_8)).isEqualTo("data: b\r\n\r");
    assertThat(scanner.acceptEvent(bytes, second, bytes.length)).isEqualTo(-1);
  }

  @Test
  void end_withinALine_leavesTheScannerReadyForTheNextStream() {
    Data data = new Data();
    SseScanner scanner = new SseScanner(data);
    byte[] cut = "data: a".getBytes(UTF_8);
    scanner.accept(cut, 0, cut.length);
    scanner.end();
    assertThat(data.text()).isEqualTo("a");
    byte[] next = "data: b\n\n".getBytes(UTF_8);
    scanner.accept(next, 0, next.length);
    assertThat(data.text()).isEqualTo("b");
  }

  @Test
  void name_isComparedWithoutAString() {
    byte[] bytes = "event: message_stop\n".getBytes(UTF_8);
    SseScanner scanner = new SseScanner(new Data());
    scanner.accept(bytes, 0, bytes.length);
    assertThat(scanner.nameIs("message_stop".getBytes(UTF_8))).isTrue();
    assertThat(scanner.nameIs("message".getBytes(UTF_8))).isFalse();
    assertThat(scanner.name()).isEqualTo("message_stop");
  }

  /** Fields, comments and blank lines in any order, with any line end. */
  private static String stream(Random random) {
    String[] lines =
        {"data: a", "data:b", "data: {\"x\":1}", "data", "data:", "event: e", "event:f", ": c", "id: 1", "",
        "", ""};
    String[] ends = {"\n", "\r\n", "\r"};
    StringBuilder text = new StringBuilder();
    String end = ends[random.nextInt(ends.length)];
    for (int i = random.nextInt(12); i >= 0; i--) {
      text.append(lines[random.nextInt(lines.length)]).append(end);
    }
    return text.append(random.nextBoolean() ? "data: z" : "").toString();
  }

  /** The events of a stream given in pieces, their sizes in turn: {@code name:data,…}, LF shown as a slash. */
  private static String read(String stream, int[] sizes) throws IOException {
    byte[] bytes = stream.getBytes(UTF_8);
    List<String> events = new ArrayList<>();
    SseEvents reader = new SseEvents(
        (name, data) -> events.add(name + ":" + new String(data, UTF_8).replace('\n', '/')));
    int from = 0;
    for (int i = 0; from < bytes.length; i++) {
      int length = Math.min(sizes[i % sizes.length], bytes.length - from);
      reader.accept(bytes, from, length);
      from += length;
    }
    reader.end();
    return String.join(",", events);
  }

  /** The last event's data. */
  private static final class Data implements SseScanner.Listener {
    private final ByteArrayOutputStream data = new ByteArrayOutputStream();

    String text() {
      return data.toString(UTF_8);
    }

    @Override
    public void dataStarted() {
      data.reset();
    }

    @Override
    public void data(byte[] bytes, int from, int to) {
      data.write(bytes, from, to - from);
    }

    @Override
    public void eventEnded(boolean hasData) {}
  }
}
