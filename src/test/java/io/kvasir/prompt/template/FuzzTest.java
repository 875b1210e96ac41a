package io.kvasir.prompt.template;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** Whatever the template says, rendering ends with a text or a {@link TemplateException}. */
final class FuzzTest {
  private static final RenderLimits SMALL = new RenderLimits(100_000, 200_000, 100, 100_000, Duration.ofMinutes(1));
  private static final List<String> WORDS = List.of(
      "{{", "}}", "{%", "%}", "{%-", "-%}", "{#", "#}", "{{-", "-}}", "\n", " ", "for", "in", "if", "else",
      "elif", "endif", "endfor", "set", "endset", "macro", "endmacro", "call", "endcall", "filter", "endfilter",
      "with", "endwith", "raw", "endraw", "generation", "endgeneration", "break", "continue", "recursive", "not",
      "and", "or", "is", "defined", "none", "true", "string", "mapping", "x", "s", "l", "d", "m", "loop", "index",
      "caller", "namespace", "ns", "range", "cycler", "joiner", "dict", "strftime_now", "raise_exception", "(",
      ")", "[", "]", "{", "}", ".", ",", ":", "|", "=", "==", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/", "//",
      "%", "**", "~", "'a'", "\"%s\"", "'{}'", "'%d'", "''", "'\\n'", "0", "1", "2", "-1", "3.5", "1e9",
      "999999999999", "upper", "lower", "trim", "length", "join", "map", "select", "selectattr", "sort", "unique",
      "groupby", "batch", "slice", "tojson", "items", "dictsort", "int", "float", "round", "abs", "min", "max",
      "sum", "indent", "replace", "format", "first", "last", "list", "reverse", "default", "escape", "safe",
      "title", "truncate", "center", "split", "strip", "startswith", "get", "keys", "values", "find", "zfill",
      "partition", "urlencode", "striptags", "attribute");
  private static final Map<String, Object> VARIABLES = Map.of("x", 3L, "s", "Hello wörld 😀\n", "l",
      List.of(1L, "a", 2.5, List.of(1L, 2L)), "d", Map.of("a", 1L, "b", List.of(), "items", true), "m",
      List.of(Map.of("role", "user", "content", "hi"), Map.of("role", "assistant", "content", "yo")));

  /** How it ended: a text, or the kind of exception. */
  private static String outcome(String source) {
    try {
      ChatTemplate template = ChatTemplate.parse(source);
      template.render(
          VARIABLES, () -> Vectors.time(0), new RenderBudget(SMALL, NanoClock.SYSTEM), new RenderedText());
      return "text";
    } catch (TemplateException e) {
      assertThat(e.getMessage()).isNotEmpty();
      return e.getClass().getSimpleName();
    } catch (Throwable e) {
      return fail("seeded template: " + source, e);
    }
  }

  @Test
  void randomWords_endAsTextOrTemplateException() {
    Random random = new Random(1);
    Set<String> outcomes = new HashSet<>();
    for (int i = 0; i < 30_000; i++) {
      StringBuilder source = new StringBuilder(random.nextInt(3) == 0 ? "" : "{{ ");
      int words = 1 + random.nextInt(14);
      for (int w = 0; w < words; w++) {
        source.append(WORDS.get(random.nextInt(WORDS.size()))).append(random.nextInt(3) == 0 ? "" : " ");
      }
      source.append(random.nextInt(3) == 0 ? "" : " }}");
      outcomes.add(outcome(source.toString()));
    }
    assertThat(outcomes).contains("text", "Syntax", "Evaluation");
  }

  @Test
  void randomCalls_endAsTextOrTemplateException() {
    Random random = new Random(2);
    List<String> values = List.of("x", "s", "l", "d", "m", "none", "true", "u", "-1", "0", "2.5", "''", "'a'", "'%s'",
        "'{0}'", "[]", "{}", "(1,)", "1e308", "'name'", "range(3)", "9223372036854775807", "(l|map('string'))",
        "namespace(a=1)", "cycler(1)", "s|safe", "d.items()", "99999999", "'role'");
    Set<String> names = new TreeSet<>(StringMethods.NAMES);
    names.addAll(List.of("get", "items", "keys", "values", "copy", "count", "index", "append", "update"));
    List<String> methods = List.copyOf(names);
    Set<String> outcomes = new HashSet<>();
    for (int i = 0; i < 30_000; i++) {
      List<String> arguments = new ArrayList<>();
      for (int a = random.nextInt(4); a > 0; a--) {
        arguments.add(values.get(random.nextInt(values.size())));
      }
      String value = values.get(random.nextInt(values.size()));
      String call = WORDS.get(WORDS.indexOf("upper") + random.nextInt(WORDS.size() - WORDS.indexOf("upper")));
      String list = "(" + String.join(", ", arguments) + ")";
      String source = switch (random.nextInt(5)) {
        case 0 -> "{{ (" + value + ")." + methods.get(random.nextInt(methods.size())) + list + " }}";
        case 1 -> "{{ (" + value + ")[" + String.join(":", arguments) + "] }}";
        case 2 -> "{{ (" + value + ") " + List.of("+", "-", "*", "/", "//", "%", "**", "~", "<", "in", "==", "and")
            .get(random.nextInt(12)) + " (" + values.get(random.nextInt(values.size())) + ") }}";
        default -> "{% if true %}{{ (" + value + ") | " + call + list + " | list }}{% endif %}";
      };
      outcomes.add(outcome(source));
    }
    assertThat(outcomes).contains("text", "Evaluation");
  }

  @Test
  void realTemplatesWithRandomDamage_endAsTextOrTemplateException() throws IOException {
    Random random = new Random(3);
    Set<String> sources = new HashSet<>();
    for (JsonNode vector : Vectors.read("corpus.jsonl")) {
      sources.add(vector.get("template").asText());
    }
    List<String> templates = List.copyOf(new TreeSet<>(sources));
    Set<String> outcomes = new HashSet<>();
    for (int i = 0; i < 5_000; i++) {
      StringBuilder source = new StringBuilder(templates.get(random.nextInt(templates.size())));
      for (int d = 1 + random.nextInt(4); d > 0; d--) {
        int at = random.nextInt(source.length());
        switch (random.nextInt(3)) {
          case 0 -> source.delete(at, Math.min(source.length(), at + 1 + random.nextInt(20)));
          case 1 -> source.insert(at, WORDS.get(random.nextInt(WORDS.size())));
          default -> source.setCharAt(at, (char) (32 + random.nextInt(96)));
        }
      }
      outcomes.add(outcome(source.toString()));
    }
    assertThat(outcomes).contains("Syntax");
  }
}
