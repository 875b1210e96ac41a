package io.kvasir.prompt.template;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import com.sun.management.ThreadMXBean;
import io.kvasir.time.NanoClock;
import java.lang.management.ManagementFactory;
import java.math.BigInteger;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * Random templates end within their budget: with a text or a {@link TemplateException}, never with an error, and with
 * memory in proportion to the budget. {@code -Dkvasir.test.templates=100000} makes another number of them than the few
 * thousand, {@code -Dkvasir.test.seed=7} others.
 */
final class TemplateFuzzTest {
  private static final RenderLimits LIMITS = new RenderLimits(100_000, 1 << 18, 200, 1 << 16, Duration.ofMinutes(1));
  /** What a step or a character of the budget may cost. */
  private static final long BYTES_PER_UNIT = 250;
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  static Map<String, Object> variables() {
    Map<String, Object> variables = new HashMap<>();
    variables.put("s", "Hello wörld 😀\n<b>tag</b> & more");
    variables.put("w", "a ".repeat(3000));
    variables.put("l", List.of(1L, "a", 2.5, List.of(1L, 2L), Map.of("a", "b")));
    variables.put("d", Map.of("a", Map.of("b", 1L), "items", true));
    variables.put("m", List.of(Map.of("role", "user", "a", "hi"), Map.of("role", "assistant", "a", "yo")));
    variables.put("n", 3L);
    variables.put("f", 2.5);
    variables.put("big", BigInteger.TEN.pow(900));
    return variables;
  }

  @Test
  void randomTemplates_endWithinTheBudget() {
    long seed = Long.getLong("kvasir.test.seed", 14);
    int count = Integer.getInteger("kvasir.test.templates", 1500);
    TemplateGenerator generator = new TemplateGenerator(seed);
    Map<String, Integer> outcomes = new HashMap<>();
    for (int i = 0; i < count; i++) {
      String source = generator.next();
      outcomes.merge(outcome(source, "seed " + seed + ", template " + i + ": " + source), 1, Integer::sum);
    }
    System.out.println("templates by outcome, seed " + seed + ": " + outcomes);
    assertThat(outcomes.keySet()).contains("text", "Evaluation", "Limit");
  }

  private static String outcome(String source, String which) {
    RenderBudget budget = new RenderBudget(LIMITS, NanoClock.SYSTEM);
    Map<String, Object> variables = variables();
    long before = THREADS.getCurrentThreadAllocatedBytes();
    String outcome;
    try {
      ChatTemplate.parse(source, budget).render(variables, () -> Vectors.time(0), budget, new RenderedText());
      outcome = "text";
      assertThat(budget.steps()).isLessThanOrEqualTo(LIMITS.steps());
    } catch (TemplateException e) {
      outcome = e.getClass().getSimpleName();
    } catch (Throwable e) {
      return fail(which, e);
    }
    long bytes = THREADS.getCurrentThreadAllocatedBytes() - before;
    assertThat(bytes).as(which).isLessThan(BYTES_PER_UNIT * (LIMITS.chars() + LIMITS.steps()));
    return outcome;
  }
}
