package io.kvasir.prompt.template;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class LimitsTest {
  private static final RenderLimits SMALL = new RenderLimits(400_000, 1_000_000, 100, 1 << 20, Duration.ofMinutes(1));

  private static String render(String source) {
    StringBuilder out = new StringBuilder();
    ChatTemplate.parse(source).render(
        Map.of("text", "x".repeat(100_000)), () -> Vectors.time(0), new RenderBudget(SMALL, NanoClock.SYSTEM), out);
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
  void parse_hugeSource_isRefused() {
    assertThatThrownBy(() -> ChatTemplate.parse("x".repeat(2_000_000)))
        .isInstanceOf(TemplateException.Syntax.class)
        .hasMessageContaining("characters");
  }
}
