package io.kvasir.prompt.template;

import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeSet;

/**
 * Random templates, made by a grammar of the language: mostly of values of fitting types, so that they are not only
 * parsed. Every filter, test and method occurs; those that make much of little occur most often.
 *
 * <p>In a rule {@code $t} is a text, {@code $n} a number, {@code $l} a list, {@code $d} a dict, {@code $a} any of
 * them, {@code $b} a condition, {@code $f}, {@code $m} and {@code $i} the name of a filter, method or test, and
 * {@code $s} are statements.
 */
final class TemplateGenerator {
  private static final Map<Character, List<String>> LEAVES = Map.of(
      't', List.of("s", "w", "ns.a", "x", "'a'", "''", "'<'", "' a'", "'%s'", "'{}'", "'{0[0]}'", "'%9999d'", "'<!--'",
          "'\\n'", "'&<'", "'é😀'", "'a,b'", "'%(a)s'", "'{:>999}'", "'%.999f'", "'1_0'", "'upper'", "'a.b'"),
      'n', List.of("0", "1", "2", "-1", "n", "7", "100", "5000", "60000", "99999999", "9223372036854775807", "big",
          "true"),
      'l', List.of("l", "m", "ns.b", "[]", "range(60)", "[1, 2]", "(1, 'a')", "range(100000)"),
      'd', List.of("d", "{}", "{'a': 1}", "dict(a=s)", "{1: 2, 'b': [3]}"),
      'b', List.of("true", "false", "x is defined", "n > 2"),
      's', List.of("{{ $t }}", "{{ $n }}", "{{ $l }}", "{{ $d }}", "text "));

  private static final Map<Character, List<String>> RULES = Map.of(
      't', List.of("($t ~ $a)", "($t + $t)", "($t * $n)", "($t * $n)", "($t % $a)", "($t % ($a, $a))",
            "$t|replace($t, $t)",
          "$t.replace($t, $t)", "$t|striptags", "$t|indent($n)", "$t|indent($t)", "$l|join($t)", "$t.join($t)",
          "$a|tojson",
          "$a|tojson(indent=$n)", "$a|string", "$t|center($n)", "$t.zfill($n)", "$t|upper|title", "$t|urlencode",
          "$t|escape",
          "$t.strip($t)", "$t|trim($t)", "$t[$n]", "$t[$n:$n]", "$t[::$n]", "$t.format($a, $a)", "$t|format($a)",
          "$t.expandtabs($n)", "mac($t)", "mac($a, $a)", "($t if $b else $t)", "$t|default($t)", "$t|truncate($n, $b)",
          "$t|reverse", "cycler(*$l).next()", "($t|safe + $t)", "$t.swapcase()", "$d[$t]", "$l|sum(start=$t)",
          "strftime_now($t)", "$t.$m($a)",
          "$t.$m($t, $n)", "$t.$m()", "$a|$f", "$a|$f($a)", "$t|$f($n, $t)",
          "'{:{}}'.format($a, $n)", "$t.format_map($d)", "$t.encode()", "$t.encode()[$n:$n]", "$t.encode().decode()"),
      'n', List.of("($n + $n)", "($n * $n)", "($n - $n)", "($n // $n)", "($n ** $n)", "($n % $n)", "(-$n)",
            "($n * 2.5)", "($n ** 0.5)", "($n * 1e308)", "$a|length",
          "$t.find($t)", "$t.rfind($t)", "$t.count($t)", "$t.index($t)", "$l.count($a)", "$t|wordcount", "$t|int",
          "$n|round($n)",
          "$l|sum", "$n|abs", "$t|float", "$l|max", "$l|min"),
      'l', List.of("[$a, $a]", "($a, $a)", "($l + $l)", "($l * $n)", "($l * $n)", "$t.split()", "$t.split($t)",
          "$t.split($t, $n)", "$t.rsplit($t)", "$t.splitlines()", "$t.partition($t)", "$t|list", "$l|list",
          "$d.items()|list",
          "$d|dictsort", "$l|map('upper')|list", "$l|map('string')|list", "$l|map('$f')|list",
          "$l|map(attribute=$t)|list",
          "$l|select('string')|list", "$l|reject('$i')|list", "$l|unique|list", "$l|sort", "$l|batch($n)|list",
          "$l|batch($n, $a)|list", "$l|slice($n)|list", "$l|groupby($n)", "$l[$n:]", "$l[::-1]", "range($n)",
          "$l|reverse|list",
          "$l|map('list')", "$l|selectattr($t)|list", "[$l, $l]", "$l.copy()"),
      'd', List.of("{$t: $a}", "{$a: $a, $a: $a}", "dict($d, a=$a)", "dict(**$d)", "dict($l)", "$d.copy()",
          "namespace(a=$a)", "dict($t|batch(2)|list)"),
      'b', List.of("$a == $a", "$t == $t", "$t < $t", "$t in $t", "$a in $l", "$t in $d", "not $b", "($b and $b)",
            "$l == $l",
          "$t is $i", "$a is $i($a)", "$t.startswith($t)", "$t.endswith($t)", "$l < $l", "$d == $d"),
      's', List.of("{% for i in $l %}$s{% endfor %}", "{% for i in $l %}{{ loop.changed($a) }}$s{% endfor %}",
            "{% for i in range(60) %}$s{{ loop.index }}{% endfor %}",
          "{% for i in range(5000) %}$s{% endfor %}", "{% for i in $l if $b %}$s{{ loop.length }}{% endfor %}",
          "{% for i in $l recursive %}$s{{ loop($l) }}{% endfor %}", "{% if $b %}$s{% else %}$s{% endif %}",
          "{% set x = $t %}$s", "{% set ns.a = $t %}$s", "{% set ns.b = $l %}$s", "{% set ns.a = ns.a ~ ns.a %}$s",
          "{% set ns.a = ns.a * $n %}$s", "{% set ns.b = [ns.b, ns.b] %}$s", "{% set ns.b = ns.b + ns.b %}$s",
          "{% set ns.b = ns.b|map('string') %}$s", "{% set x %}$s{% endset %}$s", "{% filter $f %}$s{% endfilter %}",
          "{% call mac($a) %}$s{% endcall %}", "{{ $a }}$s", "$s$s",
          "{% macro mac(x, f=2) %}$s{{ mac(x) }}{{ caller }}{% endmacro %}$s",
          "{% with x = $a %}$s{% endwith %}", "{% autoescape $b %}$s{% endautoescape %}",
          "{% for i in $l %}{% block q scoped %}$s{% endblock %}{% endfor %}",
          "{{ $t }}{% block q %}$s{% endblock %}"));

  private static final List<String> FILTERS = List.copyOf(new TreeSet<>(Filters.names()));
  private static final List<String> METHODS = List.copyOf(new TreeSet<>(StringMethods.NAMES));
  private static final List<String> TESTS =
      new TreeSet<>(Tests.names()).stream().filter(name -> name.matches("\\w+")).toList();

  private final Random random;

  TemplateGenerator(long seed) {
    random = new Random(seed);
  }

  String next() {
    return "{% set ns = namespace(a='ab', b=[1]) %}{% set x = 'x' %}"
        + "{% macro mac(x, f=2) %}<{{ x }}{{ caller() if caller else f }}{% endmacro %}" + expand("$s$s", 5);
  }

  private String expand(String rule, int depth) {
    StringBuilder out = new StringBuilder();
    for (int i = 0; i < rule.length(); i++) {
      char c = rule.charAt(i);
      if (c == '$') {
        out.append(any(rule.charAt(++i), depth));
      } else {
        out.append(c);
      }
    }
    return out.toString();
  }

  private String any(char kind, int depth) {
    return switch (kind) {
      case 'f' -> pick(FILTERS);
      case 'm' -> pick(METHODS);
      case 'i' -> pick(TESTS);
      case 'a' -> any("tnld".charAt(random.nextInt(4)), depth);
      default -> {
        boolean leaf = depth <= 0 || (kind != 's' && random.nextInt(3) == 0);
        String rule = pick((leaf ? LEAVES : RULES).getOrDefault(kind, List.of()));
        String made = expand(rule, depth - 1);
        yield kind == 's' || leaf ? made : "(" + made + ")";
      }
    };
  }

  private String pick(List<String> of) {
    return of.get(random.nextInt(of.size()));
  }
}
