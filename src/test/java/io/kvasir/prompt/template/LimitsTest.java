package io.kvasir.prompt.template;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import io.kvasir.time.ManualClock;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class LimitsTest {
  private static final RenderLimits SMALL = new RenderLimits(400_000, 1_000_000, 100, 1 << 20, Duration.ofMinutes(1));

  private static String render(String source) {
    RenderedText out = new RenderedText();
    ChatTemplate.parse(source).render(
        Map.of("text", "x".repeat(100_000)), () -> Vectors.time(0), budget(), out);
    return out.toString();
  }

  @ParameterizedTest
  @ValueSource(strings = {
    // Time.
    "{% for a in range(1000) %}{% for b in range(1000) %}{% endfor %}{% endfor %}",
    "{% for a in range(100000) %}{% if text == text ~ 'y' %}{% endif %}{% endfor %}",
    "{% for a in range(10000) %}{% if 'zz' in text %}{% endif %}{% endfor %}",
    "{% for a in range(10000) %}{% set b = text|upper %}{% endfor %}",
    "{% for a in range(1000) %}{% set b = range(1000)|map('string')|list %}{% endfor %}",
    // Memory.
    "{{ 'x' * 10000000000 }}",
    "{{ [1] * 10000000000 }}",
    "{{ 'x'.center(1000000000) }}",
    "{{ 'x'|center(1000000000) }}",
    "{{ 'x'.zfill(99999999) }}",
    "{{ '%99999999d' % 1 }}",
    "{{ '{:>99999999}'.format(1) }}",
    "{{ text.replace('x', text) }}",
    "{{ text|replace('', text) }}",
    "{{ text|indent(10000)|indent(10000) }}{{ (text|list|join('\\n'))|indent(1000) }}",
    "{{ text.join(text) }}",
    "{{ text|list|join(text) }}",
    "{{ ('x ' * 6000)|wordwrap(1, true, text * 4) }}",
    "{% set n = namespace(s='x') %}{% for i in range(60) %}{% set n.s = n.s ~ n.s %}{% endfor %}",
    "{% set n = namespace(s='x') %}{% for i in range(60) %}{% set n.s = n.s + n.s %}{% endfor %}",
    "{% set n = namespace(s=[1]) %}{% for i in range(60) %}{% set n.s = n.s + n.s %}{% endfor %}",
    "{% set n = namespace(s=[1]) %}{% for i in range(60) %}{% set n.s = [n.s, n.s] %}{% endfor %}{{ n.s }}",
    "{% set n = namespace(s=[1]) %}{% for i in range(60) %}{% set n.s = [n.s, n.s] %}{% endfor %}{{ n.s|tojson }}",
    "{% set n = namespace(s={}) %}{% for i in range(60) %}{% set n.s = {'a': n.s, 'b': n.s} %}{% endfor %}"
        + "{{ n.s|string }}",
    "{% set n = namespace(s=[1], t=[1]) %}{% for i in range(60) %}{% set n.s = [n.s, n.s] %}"
        + "{% set n.t = [n.t, n.t] %}{% endfor %}{{ n.s == n.t }}",
    "{% set n = namespace(s=[1], t=[1]) %}{% for i in range(60) %}{% set n.s = [n.s, n.s] %}"
        + "{% set n.t = [n.t, n.t] %}{% endfor %}{{ n.s < n.t }}{{ [n.s, n.t]|sort }}",
    "{% for i in range(100000) %}{{ text }}{% endfor %}",
    "{% set x %}{% for i in range(100) %}{{ text }}{% endfor %}{% endset %}",
    // Depth.
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "{% macro m() %}{% call m() %}{{ caller() }}{% endcall %}{{ caller }}{% endmacro %}{{ m() }}",
    "{% for x in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}",
    "{% set n = namespace(s=[1]) %}{% for i in range(20000) %}{% set n.s = [n.s] %}{% endfor %}{{ n.s|tojson }}",
    "{% set n = namespace(s=[1]) %}{% for i in range(20000) %}{% set n.s = [n.s] %}{% endfor %}{{ n.s }}",
    "{% set n = namespace(s=[1], t=[1]) %}{% for i in range(9000) %}{% set n.s = [n.s] %}{% set n.t = [n.t] %}"
        + "{% endfor %}{{ n.s == n.t }}",
  })
  void render_beyondALimit_isRefused(String source) {
    assertThatThrownBy(() -> render(source)).isInstanceOf(TemplateException.Limit.class);
  }

  @Test
  void prettyPrint_withAWideIndent_isRefusedBeforeItIsMade() {
    RenderLimits limits = new RenderLimits(4_000_000, 8 << 20, 100, 1 << 20, Duration.ofMinutes(1));
    ChatTemplate template = ChatTemplate.parse("{{ {text: 'x ' * 20000}|pprint }}");

    assertThatThrownBy(() -> template.render(
        Map.of("text", "x".repeat(800_000)), () -> Vectors.time(0), new RenderBudget(limits, NanoClock.SYSTEM),
        new RenderedText())).isInstanceOf(TemplateException.Limit.class);
  }

  @Test
  void render_withinLimits_isWhole() {
    assertThat(render("{% for i in range(1000) %}{{ i }}{% endfor %}{{ text|length }}")).hasSize(2890 + 6);
  }

  @Test
  void parse_nestedTooDeep_isRefused() {
    for (String source : new String[] {
        "{{ " + "(".repeat(100_000) + "1" + ")".repeat(100_000) + " }}",
        "{{ " + "[".repeat(100_000) + " }}",
        "{{ " + "not ".repeat(100_000) + "x }}",
        "{{ " + "-".repeat(100_000) + "1 }}",
        "{{ 1" + " + 1".repeat(100_000) + " }}",
        "{{ x" + ".y".repeat(100_000) + " }}",
        "{{ x" + "|e".repeat(100_000) + " }}",
        "{{ 1" + " if 1 else 1".repeat(50_000) + " }}",
        "{% if 1 %}".repeat(50_000),
        "{% for " + "(".repeat(100_000) + " %}"}) {
      assertThatThrownBy(() -> ChatTemplate.parse(source)).isInstanceOf(TemplateException.Syntax.class);
    }
  }

  @Test
  void parse_manyNamesAndAssignments_isLinearWork() {
    RenderLimits limits = new RenderLimits(2_000_000, 64 << 20, 1000, 1 << 20, Duration.ofMinutes(1));
    StringBuilder reversed = new StringBuilder();
    for (int i = 20_000; i > 0; i--) {
      reversed.append("{%set a").append(i).append("=a").append(i - 1).append("%}");
    }
    for (String source : new String[] {
        "{{ x|" + "a.".repeat(400_000) + "a }}",
        reversed + "{%set a0=messages%}{%for m in a20000%}{%for c in m.content%}{%endfor%}{%endfor%}"}) {
      try {
        ChatTemplate template = ChatTemplate.parse(source, new RenderBudget(limits, NanoClock.SYSTEM));
        assertThat(template.contentUse().inVariables().content()).isTrue();
      } catch (TemplateException e) {
        assertThat(e.getMessage()).hasSizeLessThan(2100);
      }
    }
  }

  @Test
  void parse_manyTokens_areChargedToTheBudget() {
    String source = "{{ [" + "1,".repeat(500_000) + "] }}";
    assertThatThrownBy(() -> ChatTemplate.parse(source, budget())).isInstanceOf(TemplateException.Limit.class);
    assertThatThrownBy(() -> ChatTemplate.parse(source)).isInstanceOf(TemplateException.Syntax.class);
  }

  @Test
  void parse_nestingThatOnlyTheContentFormatFollows_isRead() {
    String chain = "messages" + "[:]".repeat(200);
    String source = "(".repeat(45) + chain + (")" + "[:]".repeat(200)).repeat(45);
    ChatTemplate template = ChatTemplate.parse("{% set x = " + source + " %}{{ x|length }}");
    assertThatThrownBy(() -> template.render(Map.of("messages", List.of()), () -> Vectors.time(0)))
        .isInstanceOf(TemplateException.Limit.class).hasMessageContaining("deep");
  }

  /** On each kind of thread, whose stacks differ, and with all kinds of nesting that a template can have at once. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void render_deepestNesting_endsByItsLimitAndNotByTheStack(boolean virtual) throws InterruptedException {
    String[] sources = {
        "{% macro m(x) %}{% if true %}{% for i in [1] %}{{ m(x=m(x=[x, m])) }}{% endfor %}{% endif %}{% endmacro %}"
            + "{{ m(1) }}",
        "{% macro m() %}{% call m() %}{{ caller() }}{% endcall %}{{ caller }}{% endmacro %}{{ m() }}",
        "{% for x in [[1]] recursive %}{% filter upper %}{{ loop([[1]]) }}{% endfilter %}{% endfor %}",
        "{% set n = namespace(g=[1]) %}{% for i in range(5000) %}{% set n.g = n.g|map('string')|select %}{% endfor %}"
            + "{{ n.g|list }}",
        "{% set n = namespace() %}{% set n.n = n %}{{ n }}",
        "{% set n = namespace(t=(1,)) %}{% for i in range(5000) %}{% set n.t = (n.t,) %}{% endfor %}"
            + "{{ [n.t, n.t]|sort }}{{ [n.t]|unique|list }}",
        "{% set x = " + "(".repeat(90) + "x" + ("|default(x)".repeat(400) + ")").repeat(90) + " %}"};
    Map<String, String> outcomes = new LinkedHashMap<>();
    Runnable all = () -> {
      for (String source : sources) {
        outcomes.put(source, outcome(source));
      }
    };
    Thread thread = virtual ? Thread.ofVirtual().start(all) : Thread.ofPlatform().start(all);
    thread.join();
    assertThat(outcomes).hasSize(sources.length);
    assertThat(outcomes.values()).allMatch(outcome -> outcome.endsWith("deep"), "by the limit");
  }

  private static String outcome(String source) {
    try {
      ChatTemplate.parse(source).render(Map.of(), () -> Vectors.time(0));
      return "rendered";
    } catch (TemplateException.Limit e) {
      return e.reason();
    } catch (Throwable e) {
      return e.toString();
    }
  }

  @Test
  void render_beyondTheTime_isRefusedWithinAThousandSteps() {
    ManualClock clock = new ManualClock();
    RenderLimits limits = new RenderLimits(1L << 40, 1 << 20, 100, 1000, Duration.ofMillis(50));
    RenderBudget budget = new RenderBudget(limits, () -> {
      clock.advance(Duration.ofMillis(9));
      return clock.nanos();
    });
    ChatTemplate endless = ChatTemplate.parse(
        "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}");
    assertThatThrownBy(() -> endless.render(Map.of(), () -> Vectors.time(0), budget, new RenderedText()))
        .isInstanceOf(TemplateException.Limit.class).hasMessageContaining("50 ms");
    assertThat(budget.steps()).isBetween(1L, 10_000L);
  }

  @Test
  void render_whileTheProcessPauses_isNotCharged() {
    ManualClock clock = new ManualClock();
    RenderLimits limits = new RenderLimits(1L << 40, 1 << 20, 100, 1000, Duration.ofMillis(50));
    RenderBudget budget = new RenderBudget(limits, () -> {
      clock.advance(Duration.ofSeconds(1));
      return clock.nanos();
    });
    RenderedText out = new RenderedText();
    ChatTemplate.parse("{% for a in range(400) %}{{ a % 2 }}{% endfor %}")
        .render(Map.of(), () -> Vectors.time(0), budget, out);
    assertThat(out.length()).isEqualTo(400);
    assertThat(clock.readings()).isGreaterThan(1);
  }

  @Test
  void limits_growWithTheConversation() {
    assertThat(RenderLimits.ofModel(4_000_000).steps()).isEqualTo(RenderLimits.MODEL.steps() + 64_000_000);
    assertThat(RenderLimits.ofModel(4_000_000).chars()).isEqualTo(RenderLimits.MODEL.chars() + 256_000_000);
    assertThat(RenderLimits.ofModel(1L << 40).chars()).as("no text is longer").isEqualTo(1L << 30);
    assertThat(RenderLimits.ofRequest(1000).steps()).isEqualTo(RenderLimits.REQUEST.steps() + 1000);
    assertThat(RenderLimits.ofRequest(1000).chars()).isEqualTo(RenderLimits.REQUEST.chars() + 4000);
  }

  /** What a template collects in a variable, round by round: texts before and after it, captured ones, and lists. */
  @ParameterizedTest
  @ValueSource(strings = {
    "{% set ns = namespace(o='') %}{% for m in l %}{% set ns.o = ns.o + '<|' + m + '|>' %}{% endfor %}{{ ns.o }}",
    "{% set ns = namespace(o='') %}{% for m in l %}{% set ns.o = ns.o ~ '<|' ~ m ~ '|>' %}{% endfor %}{{ ns.o }}",
    "{% set ns = namespace(o='') %}{% for m in l %}{% set ns.o = m + ns.o %}{% endfor %}{{ ns.o|length }}",
    "{% set ns = namespace(o='') %}{% for m in l %}{% if ns.o %}{% set ns.o = ns.o ~ '\n' %}{% endif %}"
        + "{% set ns.o = ns.o ~ m if m else ns.o %}{% endfor %}{{ ns.o|trim }}",
    "{% set ns = namespace(o='') %}{% for m in l %}{% set o %}{{ ns.o }}<{{ m }}>{% endset %}{% set ns.o = o %}"
        + "{% endfor %}{{ ns.o }}",
    "{% set ns = namespace(o=[]) %}{% for m in l %}{% set ns.o = ns.o + [m] %}{% endfor %}{{ ns.o|join }}",
    "{% for m in l %}{% set rest = l[loop.index:] %}{% if rest and rest[0] == m %}{{ m }}{% endif %}{% endfor %}",
  })
  void render_collectedInAVariable_isWorkInProportion(String source) {
    RenderBudget once = collected(source, 1000);
    RenderBudget twice = collected(source, 2000);
    assertThat(twice.chars()).isLessThan(2 * once.chars() + once.chars() / 4);
    assertThat(twice.steps()).isLessThan(2 * once.steps() + once.steps() / 4);
  }

  private static RenderBudget collected(String source, int rounds) {
    List<String> messages = Collections.nCopies(rounds, "x".repeat(2000));
    RenderBudget budget = new RenderBudget(RenderLimits.ofModel(2000L * rounds), NanoClock.SYSTEM);
    RenderedText out = new RenderedText();
    ChatTemplate.parse(source).render(Map.of("l", messages), () -> Vectors.time(0), budget, out);
    assertThat(out.length()).isPositive();
    return budget;
  }

  @Test
  void render_collectedTextReadInEveryRound_endsByItsLimit() {
    String source = "{% set ns = namespace(o='') %}{% for i in range(100000) %}{% set ns.o = ns.o ~ text %}"
        + "{% if ns.o|length > 0 %}{% endif %}{% endfor %}";
    assertThatThrownBy(() -> render(source)).isInstanceOf(TemplateException.Limit.class);
  }

  /** Digits by the hundred thousand that are no number in the end: to find that out takes no time of their square. */
  @ParameterizedTest
  @ValueSource(strings = {"|float(7)", "|int(7)"})
  void render_longTextThatIsNoNumber_isReadOnce(String filter) {
    String source = "{{ ('1' * 300000 ~ 'x')" + filter + " }}";
    assertThat(assertTimeoutPreemptively(Duration.ofSeconds(30), () -> {
      RenderedText out = new RenderedText();
      ChatTemplate.parse(source).render(
          Map.of(), () -> Vectors.time(0), new RenderBudget(RenderLimits.MODEL, NanoClock.SYSTEM), out);
      return out.toString();
    })).startsWith("7");
  }

  private static RenderBudget budget() {
    return new RenderBudget(SMALL, NanoClock.SYSTEM);
  }

  @Test
  void parse_hugeSource_isRefused() {
    assertThatThrownBy(() -> ChatTemplate.parse("x".repeat(2_000_000)))
        .isInstanceOf(TemplateException.Syntax.class)
        .hasMessageContaining("characters");
  }
}
