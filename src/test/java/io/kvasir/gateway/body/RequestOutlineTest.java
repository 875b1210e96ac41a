package io.kvasir.gateway.body;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.kvasir.execution.dialect.JsonMembers;
import io.kvasir.gateway.body.RequestOutline.Member;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Locale;
import java.util.Objects;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is seen of bodies that a parser reads, too, and of those that none should be given. */
final class RequestOutlineTest {
  private static final int MILLION = 1_000_000;
  private static final String[] NAMES = {
    "model", "m\\u006fdel", "\\u006dodel", "models", "mode", "stream", "messages", "mess\\u0061ges", "prompt", "input",
    "encoding_format", "", "x", "\\\"model", "model\\u0000", "größe", "\\ud83d\\ude00"
  };
  private static final String[] BLANKS = {"", "", " ", "\n\t", "\r\n  "};

  @Test
  void itShowsWhatAParserReads_ofWhateverThatReads() {
    Random random = new Random(20);
    int read = 0;
    int named = 0;
    for (int i = 0; i < 20_000; i++) {
      byte[] body = object(random, 3).getBytes(UTF_8);
      if (i % 2 == 1) {
        body = damaged(random, body);
      }
      RequestOutline outline = RequestOutline.of(body);
      JsonMembers members = isOtherEncoding(body) ? null : JsonMembers.tryOf(body);
      if (members != null) {
        read++;
        named += outline.model() == null ? 0 : 1;
        assertSame(outline, members, body);
      }
    }
    assertThat(read).isGreaterThan(10_000);
    assertThat(named).isGreaterThan(1_000);
  }

  private static void assertSame(RequestOutline outline, JsonMembers members, byte[] body) {
    String model = members.value("model").isTextual() ? members.value("model").textValue() : "";
    RequestOutline.NamedModel named = outline.model();
    if (model.isBlank()) {
      assertThat(named).isNull();
    } else {
      assertThat(named).extracting(RequestOutline.NamedModel::name).as("of %s", members).isEqualTo(model);
      JsonMembers renamed = JsonMembers.of(Objects.requireNonNull(named).replaced(body, "\"other\""));
      assertThat(renamed.toString()).isEqualTo(members.withText("model", "other").toString());
    }
    assertThat(outline.stream()).isEqualTo("true".equals(members.json("stream")));
    for (Member member : Member.values()) {
      assertThat(outline.members().contains(member))
          .isEqualTo(members.has(member.name().toLowerCase(Locale.ROOT)));
    }
  }

  /** What parsers take for UTF-16 or UTF-32. */
  private static boolean isOtherEncoding(byte[] body) {
    return body.length > 1 && (body[0] == 0 || body[1] == 0 || body[0] == -1 || body[0] == -2);
  }

  private static byte[] damaged(Random random, byte[] body) {
    byte[] damaged = Arrays.copyOf(body, random.nextBoolean() ? body.length : random.nextInt(body.length + 1));
    for (int i = random.nextInt(3); i > 0 && damaged.length > 0; i--) {
      damaged[random.nextInt(damaged.length)] = (byte) "{}[]\",:\\ tx0é".charAt(random.nextInt(13));
    }
    return damaged;
  }

  private static String object(Random random, int depth) {
    return IntStream.range(0, random.nextInt(6))
        .mapToObj(_ -> blank(random) + '"' + NAMES[random.nextInt(NAMES.length)] + '"' + blank(random) + ':'
            + value(random, depth))
        .collect(Collectors.joining(",", blank(random) + "{", blank(random) + "}" + blank(random)));
  }

  private static String value(Random random, int depth) {
    String value = switch (random.nextInt(depth == 0 ? 7 : 10)) {
      case 0 -> "\"m\"";
      case 1 -> "\"" + NAMES[random.nextInt(NAMES.length)] + "\"";
      case 2 -> "\"\\\\\\\"]},{\\/\"";
      case 3 -> "true";
      case 4 -> "null";
      case 5 -> Integer.toString(random.nextInt(100) - 50);
      case 6 -> "1.5e+3";
      case 7 -> object(random, depth - 1);
      default -> IntStream.range(0, random.nextInt(4))
          .mapToObj(_ -> value(random, depth - 1))
          .collect(Collectors.joining(",", "[", "]"));
    };
    return blank(random) + value + blank(random);
  }

  private static String blank(Random random) {
    return BLANKS[random.nextInt(BLANKS.length)];
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "{\"model\":\"m\",\"stream\":true,\"x\":NaN",
    "{\"model\":\"m\",\"stream\":true,\"x\":[}",
    "{\"model\":\"m\",\"stream\":true} and more",
    "\ufeff {\"model\":\"m\",\"stream\":true,}",
    "{\"x\":'{',\"model\":\"m\",\"stream\":true}"
  })
  void whatNoParserReads_isSeenAsFarAsItGoes(String body) {
    RequestOutline outline = RequestOutline.of(body.getBytes(UTF_8));

    assertThat(outline.model()).extracting(RequestOutline.NamedModel::name).isEqualTo("m");
    assertThat(outline.stream()).isTrue();
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "", "{", "[]", "\"model\"", "{\"model\"", "{\"model\":", "{\"model\":\"", "{\"model\":\"\\", "{\"model\":\"m",
    "{model:\"m\"}", "{\"model\":{\"model\":\"m\"}}", "{\"x\":[{\"model\":\"m\"}", "{\"model\":\" \"}",
    "{\"model\" \"m\"}"
  })
  void otherwise_thereIsNothingToSee(String body) {
    assertThat(RequestOutline.of(body.getBytes(UTF_8)).model()).isNull();
  }

  static Stream<String> hostile() {
    return Stream.of(
        "{\"model\":" + "[".repeat(4 * MILLION),
        "{\"model\":[" + "[],".repeat(MILLION) + "[]],\"messages\":[]}",
        "{" + "\"m\\u006fdel\":[],".repeat(MILLION) + "\"model\":\"m\"}",
        "{" + "\"model\":\"m\\u0065\",".repeat(MILLION),
        "{\"model\":\"" + "x".repeat(4 * MILLION) + "\"}",
        "{\"model\":\"" + "\\u0041".repeat(MILLION) + "\"}",
        "{\"" + "\\u0041".repeat(MILLION) + "\":1}",
        "{\"x\":\"" + "\\\"".repeat(MILLION),
        "{\"x\":" + "{\"\":".repeat(MILLION),
        "{".repeat(MILLION),
        "\"".repeat(MILLION));
  }

  @ParameterizedTest
  @MethodSource("hostile")
  void itTakesNoMemory_whateverTheBodyIs(String text) {
    byte[] body = text.getBytes(UTF_8);
    RequestOutline.of(body);
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long before = threads.getCurrentThreadAllocatedBytes();
    RequestOutline.of(body);

    assertThat(threads.getCurrentThreadAllocatedBytes() - before).isLessThan(10_000);
  }
}
