package io.kvasir.llmd;

import java.io.StringReader;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.SequencedMap;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.error.MarkedYAMLException;
import org.yaml.snakeyaml.error.YAMLException;
import org.yaml.snakeyaml.nodes.MappingNode;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.NodeTuple;
import org.yaml.snakeyaml.nodes.ScalarNode;
import org.yaml.snakeyaml.nodes.SequenceNode;
import org.yaml.snakeyaml.nodes.Tag;

/**
 * A mapping of a YAML document that is read whole: a fault is collected with its line, a harmless value takes its
 * place, and reading goes on. What was never read can be asked for afterwards. One thread at a time.
 */
final class YamlSection {
  /** Far more than any file of settings has. */
  private static final int MAX_CHARACTERS = 1 << 20;

  private final String path;
  private final int line;
  private final SequencedMap<String, Node> values = new LinkedHashMap<>();
  private final Set<String> read = new LinkedHashSet<>();
  private final List<Fault> faults;

  private YamlSection(String path, int line, List<Fault> faults) {
    this.path = path;
    this.line = line;
    this.faults = faults;
  }

  /** The only document of a text; an empty section, and a fault, where it is not one mapping. */
  static YamlSection parse(String text, List<Fault> faults) {
    LoaderOptions limits = new LoaderOptions();
    limits.setCodePointLimit(MAX_CHARACTERS);
    try {
      Node root = new Yaml(limits).compose(new StringReader(text));
      if (root == null) {
        faults.add(new Fault(0, "the file", "is empty"));
        return new YamlSection("", 0, faults);
      }
      return of(root, "", faults);
    } catch (MarkedYAMLException malformed) {
      int at = malformed.getProblemMark() == null ? 0 : malformed.getProblemMark().getLine() + 1;
      faults.add(new Fault(at, "the file", "is no YAML: " + malformed.getProblem()));
    } catch (YAMLException malformed) {
      faults.add(new Fault(0, "the file", "is no YAML: " + malformed.getMessage()));
    }
    return new YamlSection("", 0, faults);
  }

  private static YamlSection of(Node node, String path, List<Fault> faults) {
    YamlSection section = new YamlSection(path, line(node), faults);
    if (node instanceof MappingNode mapping) {
      for (NodeTuple entry : mapping.getValue()) {
        String key = entry.getKeyNode() instanceof ScalarNode scalar ? scalar.getValue() : "?";
        if (section.values.put(key, entry.getValueNode()) != null) {
          faults.add(new Fault(line(entry.getKeyNode()), section.full(key), "is written twice; keep one"));
        }
      }
    } else if (!isNull(node)) {
      faults.add(new Fault(line(node), path.isEmpty() ? "the file" : path, "has to be a mapping of names to values"));
    }
    return section;
  }

  /** Whether nothing is given. */
  boolean isEmpty() {
    return values.isEmpty();
  }

  int line() {
    return line;
  }

  /** The line of a key's value, or the section's own. */
  int line(String key) {
    Node node = values.get(key);
    return node == null ? line : line(node);
  }

  /** The full name of a key. */
  String full(String key) {
    return path.isEmpty() ? key : path + "." + key;
  }

  /** Whether a value is given; it then counts as read. */
  boolean has(String key) {
    read.add(key);
    Node node = values.get(key);
    return node != null && !isNull(node);
  }

  /** A text, also where YAML takes it for a number. */
  String text(String key, String otherwise) {
    if (!has(key)) {
      return otherwise;
    }
    if (values.get(key) instanceof ScalarNode scalar) {
      return scalar.getValue();
    }
    fault(key, "has to be a text");
    return otherwise;
  }

  /** A number within bounds, both allowed. */
  double number(String key, double otherwise, double min, double max) {
    if (!has(key)) {
      return otherwise;
    }
    if (values.get(key) instanceof ScalarNode scalar && isNumber(scalar)) {
      try {
        double number = Double.parseDouble(scalar.getValue());
        if (number >= min && number <= max) {
          return number;
        }
        fault(key, "is " + scalar.getValue() + "; it has to be from " + plain(min) + " to " + plain(max));
        return otherwise;
      } catch (NumberFormatException written) {
        // Such as .inf or 0x10, which no setting of this kind is.
      }
    }
    fault(key, "has to be a number");
    return otherwise;
  }

  /** A whole number within bounds, both allowed. */
  int whole(String key, int otherwise, int min, int max) {
    double number = number(key, otherwise, min, max);
    if (number != Math.rint(number)) {
      fault(key, "has to be a whole number");
      return otherwise;
    }
    return (int) number;
  }

  /** A value as Go or Kubernetes write it; 0 where it is missing. */
  long value(String key, GoNotation notation) {
    String text = text(key, "0");
    OptionalLong value = notation.read(text);
    if (value.isEmpty()) {
      fault(key, notation.problem(text));
    }
    return value.orElse(0);
  }

  boolean flag(String key, boolean otherwise) {
    if (!has(key)) {
      return otherwise;
    }
    if (values.get(key) instanceof ScalarNode scalar && scalar.getTag().equals(Tag.BOOL)) {
      return scalar.getValue().toLowerCase(Locale.ROOT).equals("true");
    }
    fault(key, "has to be true or false");
    return otherwise;
  }

  /** A mapping below this one, empty where it is missing. */
  YamlSection section(String key) {
    return has(key) ? of(node(key), full(key), faults) : new YamlSection(full(key), line, faults);
  }

  /** A list of mappings, empty where it is missing. */
  List<YamlSection> sections(String key) {
    List<YamlSection> sections = new ArrayList<>();
    for (Node item : items(key)) {
      sections.add(of(item, full(key) + "[" + sections.size() + "]", faults));
    }
    return sections;
  }

  /** A list of texts, empty where it is missing. */
  List<String> texts(String key) {
    List<String> texts = new ArrayList<>();
    for (Node item : items(key)) {
      if (item instanceof ScalarNode scalar) {
        texts.add(scalar.getValue());
      } else {
        faults.add(new Fault(line(item), full(key) + "[" + texts.size() + "]", "has to be a text"));
      }
    }
    return texts;
  }

  /** A mapping of texts, in their order, empty where it is missing. */
  SequencedMap<String, String> map(String key) {
    YamlSection section = section(key);
    SequencedMap<String, String> map = new LinkedHashMap<>();
    section.values.keySet().forEach(name -> map.put(name, section.text(name, "")));
    return map;
  }

  /** The keys that nobody has read, with their lines. */
  SequencedMap<String, Integer> unread() {
    SequencedMap<String, Integer> unread = new LinkedHashMap<>();
    for (Map.Entry<String, Node> entry : values.entrySet()) {
      if (!read.contains(entry.getKey())) {
        unread.put(entry.getKey(), line(entry.getValue()));
      }
    }
    return unread;
  }

  /** Every key that nobody has read is a fault: llm-d refuses fields that it does not know, too. */
  void rejectUnread() {
    unread().forEach((key, at) -> faults.add(new Fault(at, full(key), "is no field of an EndpointPickerConfig")));
  }

  void fault(String key, String problem) {
    faults.add(new Fault(line(key), full(key), problem));
  }

  /** A number as people write it: without a fraction where it has none. */
  static String plain(double number) {
    return number == Math.rint(number) && Math.abs(number) < 1e15
        ? Long.toString((long) number)
        : Double.toString(number);
  }

  private List<Node> items(String key) {
    if (!has(key)) {
      return List.of();
    }
    if (values.get(key) instanceof SequenceNode sequence) {
      return sequence.getValue();
    }
    fault(key, "has to be a list");
    return List.of();
  }

  private Node node(String key) {
    Node node = values.get(key);
    if (node == null) {
      throw new IllegalStateException(full(key) + " is asked for only where it is given");
    }
    return node;
  }

  private static boolean isNumber(ScalarNode scalar) {
    return scalar.getTag().equals(Tag.INT) || scalar.getTag().equals(Tag.FLOAT);
  }

  private static boolean isNull(@Nullable Node node) {
    return node != null && node.getTag().equals(Tag.NULL);
  }

  private static int line(Node node) {
    return node.getStartMark() == null ? 0 : node.getStartMark().getLine() + 1;
  }
}
