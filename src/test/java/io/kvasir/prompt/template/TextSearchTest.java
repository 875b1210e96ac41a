package io.kvasir.prompt.template;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

final class TextSearchTest {
  private final Random random = new Random(5);
  private final RenderBudget budget = new RenderBudget(
      new RenderLimits(1L << 40, 1L << 40, 1000, 1 << 20, Duration.ofMinutes(1)), NanoClock.SYSTEM);

  private String text(String letters, int length) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < length; i++) {
      text.append(letters.charAt(random.nextInt(letters.length())));
    }
    return text.toString();
  }

  /** A part that is often in the text, and nearly in it more often. */
  private String part(String text) {
    int from = random.nextInt(text.length());
    String part = text.substring(from, Math.min(text.length(), from + random.nextInt(60)));
    return random.nextInt(3) == 0 ? part + "b" : part;
  }

  @Test
  void searches_randomTexts_asTheJdkDoes() {
    int found = 0;
    for (int i = 0; i < 20_000; i++) {
      String text = text("aaab", 1 + random.nextInt(300));
      String part = part(text);
      int from = random.nextInt(text.length() + 1);
      int to = from + random.nextInt(text.length() + 1 - from);
      String within = text.substring(from, to);
      TextSearch search = new TextSearch(budget, part);
      int first = within.indexOf(part);
      int last = within.lastIndexOf(part);
      assertThat(search.first(text, from, to)).isEqualTo(first < 0 ? -1 : from + first);
      assertThat(search.last(text, from, to)).isEqualTo(last < 0 ? -1 : from + last);
      if (!part.isEmpty()) {
        assertThat(search.count(text, from, to)).isEqualTo(within.split(Pattern.quote(part), -1).length - 1);
      }
      found += first < 0 ? 0 : 1;
    }
    assertThat(found).isBetween(3000, 17_000);
  }

  /** Comparing each with each would take 4 * 10^12 characters: days. */
  @Test
  void searches_longTextsThatNearlyMatch_areLinear() {
    String text = "a".repeat(4_000_000);
    TextSearch end = new TextSearch(budget, "a".repeat(1_000_000) + "b");
    TextSearch begin = new TextSearch(budget, "b" + "a".repeat(1_000_000));
    assertThat(end.first(text, 0, text.length())).isEqualTo(-1);
    assertThat(begin.last(text, 0, text.length())).isEqualTo(-1);
    assertThat(end.count(text, 0, text.length())).isZero();
  }

  @Test
  void stripTags_randomTexts_asAnExpressionDoes() {
    Pattern tag = Pattern.compile("<!--.*?-->|<[^>]*>", Pattern.DOTALL);
    ChatTemplate template = ChatTemplate.parse("{{ text|striptags }}");
    for (int i = 0; i < 20_000; i++) {
      String text = text("<>!-- \na", 1 + random.nextInt(60));
      List<String> words = new ArrayList<>(List.of(tag.matcher(text).replaceAll("").split("\\s+", -1)));
      words.removeIf(String::isEmpty);
      assertThat(template.render(Map.of("text", text), () -> Vectors.time(0))).as(text)
          .isEqualTo(String.join(" ", words));
    }
  }

  /** An expression would read on from each of these to the text's end. */
  @Test
  void stripTags_tagsThatDoNotEnd_areLinear() {
    ChatTemplate template = ChatTemplate.parse("{{ (text * 1000000)|striptags|length }}");
    for (String text : new String[] {"<", "<!--", "<!-- "}) {
      assertThat(template.render(Map.of("text", text), () -> Vectors.time(0)))
          .isEqualTo(String.valueOf(text.length() * 1_000_000 - (text.endsWith(" ") ? 1 : 0)));
    }
  }
}
