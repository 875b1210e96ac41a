package io.kvasir.prompt.template;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import io.kvasir.time.NanoClock;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every operation of the language pays for its work: for each there is an expression that works on a long text, list or
 * dict, and a few hundred of them exhaust a budget that as many uses of an operation without work would not touch. What
 * they make is charged before it is made: memory stays within the budget too.
 */
final class OperationsTest {
  private static final int TURNS = 300;
  private static final RenderLimits LIMITS =
      new RenderLimits(150_000, 1L << 40, 1000, 1 << 20, Duration.ofMinutes(1));
  private static final RenderLimits CHARS =
      new RenderLimits(200_000, 1L << 20, 1000, 1 << 20, Duration.ofMinutes(1));
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  private static final Map<String, Object> VARIABLES = variables();

  /** An operator, filter, test, method or function, and expressions in which it works on much. */
  private static final Map<String, List<String>> EXPRESSIONS = new TreeMap<>();

  /** Operations that do a bounded amount of work, whatever they are given. */
  private static final Set<String> BOUNDED = Set.of(
      "filter d", "filter default", "filter abs", "filter round", "filter attr", "filter items", "filter first",
      "filter safe", "filter float",
      "test boolean", "test callable", "test defined", "test divisibleby", "test escaped", "test even", "test false",
      "test filter", "test float", "test integer", "test iterable", "test mapping", "test none", "test number",
      "test odd", "test sequence", "test string", "test test", "test true", "test undefined",
      "function cycler", "function joiner", "function range", "function raise_exception");

  static {
    operators();
    filters();
    tests();
    methods();
    functions();
  }

  private static void of(String operation, String... expressions) {
    EXPRESSIONS.put(operation, List.of(expressions));
  }

  private static void operators() {
    of("operator +", "(text + text)[0]", "list + list", "(text|safe) + markup", "text + markup");
    of("operator *", "'ab' * 50000", "[1, 2] * 20000", "(1, 2) * 20000");
    of("operator ~", "(text ~ text)[0]", "list ~ ''");
    of("operator %", "'%s' % text", "'%50000d' % 1", "('%d' * 20000) % tuple", "'%.1s' % wide", "'%r' % text");
    of("operator ==", "text == other", "list == same", "dict == equal", "wide == wider");
    of("operator <", "text < other", "list < same", "text >= other", "text <= other");
    of("operator in", "'y' in text", "needle in text", "-1 in list", "text in ranges", "-1 not in list",
        "[text, list] in [[other, same]]");
    of("operator []", "wide[-1]", "text[-1]", "text[:-1]", "wide[1:-1]", "text[::2]", "list[::2]", "tuple[::2]",
        "hit[text]", "pairs[tuple]");
    of("operator {}", "{text: 1}", "{1: text, text: 2}");
    of("operator call *", "cycler(*list)");
    of("operator call **", "dict_of(**dict)", "dict_macro(**dict)");
    of("operator for", "loops(list)", "loops(text)");
    of("operator macro", "printed(list)", "printed(text)[1:]");
    of("operator loop", "changes(text)");
  }

  private static void filters() {
    for (String name : List.of("capitalize", "center", "e", "escape", "forceescape", "indent", "lower",
          "replace('a','b')",
        "striptags", "title", "trim", "upper", "urlencode", "wordcount", "string", "list", "reverse", "last",
        "truncate(9)",
        "length", "count", "min", "max", "sort", "unique|list", "int", "format", "join", "batch(3)|list",
        "slice(3)|list",
        "map('upper')|list", "select('string')|list", "reject('string')|list", "tojson", "groupby(0)",
        "center(50000)")) {
      String key = "filter " + name.replaceAll("\\W.*", "");
      List<String> expressions = new ArrayList<>(EXPRESSIONS.getOrDefault(key, List.of()));
      expressions.add("text|" + name);
      EXPRESSIONS.put(key, expressions);
    }
    of("filter string", "list|string", "dict|string");
    of("filter escape", "quotes|escape");
    of("filter e", "quotes|e");
    of("filter trim", "text|trim(chars)", "text|trim");
    of("filter truncate", "wide|truncate(9, true)");
    of("filter indent", "(text|list|join('\n'))|indent(3)", "text|indent(text)");
    of("filter replace", "text|replace('x', 'yy')", "text|replace('', 'y')", "text|replace(needle, '')");
    of("filter striptags", "open|striptags", "comments|striptags", "text|striptags");
    of("filter urlencode", "quotes|urlencode", "dict|urlencode");
    of("filter last", "list|last");
    of("filter reverse", "list|reverse|list", "text|reverse");
    of("filter sort", "list|sort", "[text, other]|sort", "[text, other]|sort(case_sensitive=true)");
    of("filter min", "list|min", "[text, other]|min");
    of("filter max", "list|max", "[text, other]|max");
    of("filter sum", "list|sum", "ones|sum(start=[])");
    of("filter unique", "list|unique|list", "[text]|unique|list");
    of("filter groupby", "[[text, 1], [other, 2]]|groupby(0)");
    of("filter batch", "list|batch(2)|list", "[1]|batch(50000, 0)|list");
    of("filter slice", "list|slice(3)|list", "[1]|slice(50000)|list");
    of("filter dictsort", "dict|dictsort", "dict|dictsort(by='value')");
    of("filter map", "list|map('string')|list", "[cycle]|map(attribute=path)|list");
    of("filter select", "list|select|list");
    of("filter reject", "list|reject|list");
    of("filter selectattr", "[cycle]|selectattr(path)|list", "ones|selectattr(0)|list");
    of("filter rejectattr", "[cycle]|rejectattr(path)|list", "ones|rejectattr(0)|list");
    of("filter tojson", "text|tojson", "list|tojson", "dict|tojson(sort_keys=true)", "[1, 2]|tojson(indent=text)",
        "[1, 2]|tojson(separators=[text, text])", "wide|tojson(ensure_ascii=true)");
    of("filter format", "'%s'|format(text)");
    of("filter join", "list|join(',')", "[1, 2]|join(text)", "[text]|join", "[cycle]|join(attribute=path)");
    of("filter int", "text|int", "digits|int");
    of("filter wordwrap", "words|wordwrap(9)", "text|wordwrap(2)", "dashes|wordwrap(9)", "dashes|wordwrap(1)");
    of("filter pprint", "text|pprint", "list|pprint", "dict|pprint", "words|pprint");
    of("filter urlize", "words|urlize", "mails|urlize", "('www.' ~ text ~ '.')|urlize");
    of("filter xmlattr", "dict|xmlattr", "{'a': text}|xmlattr", "{text: 1}|xmlattr");
    of("filter filesizeformat", "digits|filesizeformat");
  }

  private static void tests() {
    of("test lower", "text is lower");
    of("test upper", "text is upper", "other|upper is upper");
    of("test sameas", "text is sameas other");
    of("test in", "'y' is in text", "-1 is in list");
    for (String name : List.of("==", "eq", "equalto", "!=", "ne")) {
      of("test " + name, "text is " + (name.matches("\\w+") ? name : "eq") + "(other)");
    }
    for (String name : List.of("<", "lt", "lessthan", "<=", "le", ">", "gt", "greaterthan", ">=", "ge")) {
      of("test " + name, "text is " + (name.matches("\\w+") ? name : "lt") + "(other)");
    }
  }

  private static void methods() {
    for (String name : StringMethods.NAMES) {
      of("method " + name, "text." + name + switch (name) {
        case "center", "ljust", "rjust", "zfill" -> "(50000)";
        case "split", "rsplit", "partition", "rpartition", "find", "rfind", "count", "removeprefix", "removesuffix",
            "startswith", "endswith" -> "(needle)";
        case "index", "rindex" -> "('x')";
        case "replace" -> "(needle, '')";
        case "join" -> "('ab')";
        default -> "()";
      });
    }
    of("method strip", "text.strip(chars)", "text.strip()");
    of("method split", "text.split('x')", "words.split()", "text.split(needle)");
    of("method rsplit", "text.rsplit('x')", "words.rsplit()", "text.rsplit(needle)");
    of("method join", "','.join(ranges)", "text.join(['a', 'b'])");
    of("method format", "'{}'.format(text)", "'{:>50000}'.format(1)", "('{0}' * 20000).format(1)",
        "'{:.1}'.format(wide)", "'{0[0]}'.format(wide)", "'{:{}}'.format(1, 50000)");
    of("method format_map", "'{a}'.format_map({'a': text})", "'{a}'.format_map(dict_with_a)");
    of("method encode", "text.encode()", "wide.encode('ascii', 'replace')", "text.encode()|string",
        "text.encode().decode()", "text.encode().hex()");
    of("method expandtabs", "tabs.expandtabs(100)");
    of("method get", "hit.get(text)", "pairs.get(tuple)");
    of("method keys", "dict.keys()|list");
    of("method values", "dict.values()|list");
    of("method items", "dict.items()|list");
    of("method copy", "dict.copy()", "list.copy()");
    of("method list.count", "list.count(-1)");
    of("method list.index", "list.index(4999)");
  }

  private static void functions() {
    of("function dict", "dict_of(dict)", "dict_of(twos)");
    of("function namespace", "namespace(dict)");
    of("function strftime_now", "strftime_now(percents)");
  }

  private static Map<String, Object> variables() {
    Map<String, Object> variables = new LinkedHashMap<>();
    String text = "x".repeat(50_000);
    List<Object> list = new ArrayList<>(LongStream.range(0, 5000).boxed().toList());
    Map<String, Object> dict = new LinkedHashMap<>();
    list.forEach(i -> dict.put("k" + i, i));
    variables.put("text", text);
    variables.put("other", text.substring(1) + "y");
    variables.put("needle", "x".repeat(2000) + "y");
    variables.put("chars", "y".repeat(20_000) + "x");
    variables.put("wide", "é😀".repeat(20_000));
    variables.put("wider", "é😀".repeat(19_999) + "é😁");
    variables.put("quotes", "\"&<>".repeat(10_000));
    variables.put("open", "<!-".repeat(20_000));
    variables.put("comments", "<!--".repeat(20_000));
    variables.put("words", "x ".repeat(20_000));
    variables.put("tabs", "\t".repeat(5_000));
    variables.put("digits", "1_".repeat(20_000) + "1");
    variables.put("percents", "%c".repeat(5_000));
    Map<String, Object> cycle = new LinkedHashMap<>(Map.of("end", "x"));
    cycle.put("k", cycle);
    variables.put("cycle", cycle);
    variables.put("path", "k." + "k.".repeat(20_000) + "end");
    variables.put("list", list);
    variables.put("same", List.copyOf(list));
    variables.put("ranges", list.stream().map(String::valueOf).toList());
    variables.put("ones", LongStream.range(0, 5000).mapToObj(i -> List.of(i)).toList());
    variables.put("twos", LongStream.range(0, 5000).mapToObj(i -> List.of(i, i)).toList());
    variables.put("dict", dict);
    Map<String, Object> withA = new LinkedHashMap<>(dict);
    withA.put("a", 1L);
    variables.put("dict_with_a", withA);
    variables.put("dashes", "-".repeat(5_000));
    variables.put("mails", "a@b.".repeat(5_000));
    variables.put("equal", new LinkedHashMap<>(dict));
    variables.put("hit", Map.of(text, 1L));
    variables.put("dict_function", Globals.find("dict"));
    return variables;
  }

  /** The expression, computed {@link #TURNS} times. */
  private static String repeated(String expression) {
    return "{% set tuple = () %}{% set tuple = tuple + (1,) * 20000 %}{% set pairs = {tuple: 1} %}"
        + "{% set markup = text|safe %}"
        + "{% macro dict_macro() %}{{ kwargs|length }}{% endmacro %}{% macro printed(x) %}{{ x }}{% endmacro %}"
        + "{% macro loops(x) %}{% for i in x %}{% endfor %}{% endmacro %}"
        + "{% macro changes(x) %}{% for i in [1, 2] %}{{ loop.changed(x ~ i) }}{% endfor %}{% endmacro %}"
        + "{% for i in range(" + TURNS + ") %}{% set y = "
        + expression.replace("dict_of", "dict_function").replace("\n", "\\n") + " %}{% endfor %}";
  }

  private static RenderBudget render(String source, RenderLimits limits) {
    RenderBudget budget = new RenderBudget(limits, NanoClock.SYSTEM);
    ChatTemplate template = ChatTemplate.parse(source);
    template.render(VARIABLES, () -> Vectors.time(0), budget, new RenderedText());
    return budget;
  }

  static Stream<Arguments> expressions() {
    return EXPRESSIONS.entrySet().stream()
        .flatMap(entry -> entry.getValue().stream().map(expression -> Arguments.of(entry.getKey(), expression)));
  }

  @ParameterizedTest(name = "{0}: {1}")
  @MethodSource("expressions")
  void render_muchWork_exhaustsTheBudget(String operation, String expression) {
    assertThatThrownBy(() -> render(repeated(expression), LIMITS))
        .as(operation).isInstanceOf(TemplateException.Limit.class).hasMessageContaining("steps");
  }

  @Test
  void render_noWork_doesNot() {
    assertThat(render(repeated("text"), LIMITS).steps()).isLessThan(LIMITS.steps() / 4);
  }

  /** Without charges that come first, three hundred times the text would be made, and each may be a list. */
  @ParameterizedTest(name = "{0}: {1}")
  @MethodSource("expressions")
  void render_muchText_isChargedBeforeItIsMade(String operation, String expression) {
    String source = repeated("(" + expression + ")");
    long before = THREADS.getCurrentThreadAllocatedBytes();
    try {
      render(source, CHARS);
    } catch (TemplateException.Limit e) {
      assertThat(e.reason()).isNotEmpty();
    }
    assertThat(THREADS.getCurrentThreadAllocatedBytes() - before).as(operation).isLessThan(96L << 20);
  }

  @Test
  void table_hasEveryOperation() {
    Set<String> operations = new TreeSet<>();
    Filters.names().forEach(name -> operations.add("filter " + name));
    Tests.names().forEach(name -> operations.add("test " + name));
    Globals.names().forEach(name -> operations.add("function " + name));
    StringMethods.NAMES.forEach(name -> operations.add("method " + name));
    operations.removeAll(BOUNDED);
    assertThat(EXPRESSIONS.keySet()).containsAll(operations);
  }
}
