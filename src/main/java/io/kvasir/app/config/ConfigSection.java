package io.kvasir.app.config;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigException.Missing;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigObject;
import com.typesafe.config.ConfigOrigin;
import com.typesafe.config.ConfigUtil;
import com.typesafe.config.ConfigValue;
import com.typesafe.config.ConfigValueType;
import io.kvasir.routing.ConfigPlace;
import io.kvasir.routing.Spelling;
import java.io.File;
import java.math.BigDecimal;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A section of the configuration that is read whole: a fault is collected with its file and line, a harmless value
 * takes its place, and reading goes on, so that all faults are reported together. A key that is never read is a fault,
 * too: it is misspelt.
 */
final class ConfigSection {
  private static final ConfigObject NOTHING = ConfigFactory.empty().root();

  private final Config config;

  /** Where it is written: with defaults laid under it, it has several origins. */
  private final ConfigOrigin origin;

  private final String path;
  private final List<ConfigFault> faults;
  private final Set<String> read = new LinkedHashSet<>();

  ConfigSection(Config config, String path, List<ConfigFault> faults) {
    this(config, config.origin(), path, faults);
  }

  private ConfigSection(Config config, ConfigOrigin origin, String path, List<ConfigFault> faults) {
    this.config = config;
    this.origin = origin;
    this.path = path;
    this.faults = faults;
  }

  ConfigSection section(String key) {
    return get(
        key,
        "has to be a section { ... }",
        at -> new ConfigSection(config.getConfig(at), full(key), faults),
        new ConfigSection(ConfigFactory.empty(), full(key), faults));
  }

  /** The sections of a list, each laid over {@code defaults}. */
  List<ConfigSection> sections(String key, Config defaults) {
    List<ConfigSection> sections = new ArrayList<>();
    List<? extends ConfigValue> list =
        this.<List<? extends ConfigValue>>get(key, "has to be a list [ ... ]", config::getList, List.of());
    for (int i = 0; i < list.size(); i++) {
      String name = full(key) + "[" + i + "]";
      if (list.get(i) instanceof ConfigObject object) {
        sections.add(new ConfigSection(object.toConfig().withFallback(defaults), object.origin(), name, faults));
      } else {
        faults.add(new ConfigFault(place(list.get(i).origin()), name, "has to be a section { ... }"));
      }
    }
    return sections;
  }

  /** The sections of a list, or the only one where no list is. */
  List<ConfigSection> oneOrMore(String key) {
    boolean list = config.getValue(ConfigUtil.quoteString(key)).valueType() == ConfigValueType.LIST;
    return list ? sections(key, ConfigFactory.empty()) : List.of(section(key));
  }

  boolean has(String key) {
    read.add(key);
    return config.hasPath(ConfigUtil.quoteString(key));
  }

  /** Whether a section is written there, and not a single value. */
  boolean isSection(String key) {
    String at = ConfigUtil.quoteString(key);
    return config.hasPath(at) && config.getValue(at).valueType() == ConfigValueType.OBJECT;
  }

  /** Its settings as they are written. */
  Config subtree() {
    return config;
  }

  /** The settings of a section as they are written; none where there is no section. */
  Config subtree(String key) {
    return isSection(key) ? config.getConfig(ConfigUtil.quoteString(key)) : ConfigFactory.empty();
  }

  /** The keys that are there, in alphabetical order. */
  List<String> keys() {
    return config.root().keySet().stream().sorted().toList();
  }

  String text(String key) {
    return get(key, "has to be a text", config::getString, "");
  }

  /** A text that is not blank. */
  String name(String key) {
    String text = text(key);
    if (text.isBlank() && config.hasPath(ConfigUtil.quoteString(key))) {
      fault(key, "is empty; give it a value");
    }
    return text;
  }

  List<String> texts(String key) {
    return get(key, "has to be a list of texts [\"...\"]", config::getStringList, List.of());
  }

  /** A list of texts, or the only one where no list is. */
  List<String> textOrTexts(String key) {
    boolean list = config.getValue(ConfigUtil.quoteString(key)).valueType() == ConfigValueType.LIST;
    return list ? texts(key) : Stream.of(text(key)).filter(only -> !only.isBlank()).toList();
  }

  /** A list of texts, or one text that has them with the platform's path separator between. */
  List<String> textsOrPath(String key) {
    boolean list = config.getValue(ConfigUtil.quoteString(key)).valueType() == ConfigValueType.LIST;
    return list
        ? texts(key)
        : Arrays.stream(text(key).split(Pattern.quote(File.pathSeparator), -1))
            .filter(part -> !part.isBlank())
            .toList();
  }

  boolean flag(String key) {
    return get(key, "has to be true or false", config::getBoolean, false);
  }

  int count(String key, int least, int most) {
    String range = "has to be a whole number from " + least + " to " + most;
    int value = get(key, range, config::getInt, least);
    return within(key, value >= least && value <= most, range, value, least);
  }

  /** A whole number that may be larger than a {@link #count}. */
  long whole(String key, long least, long most) {
    String range = "has to be a whole number from " + least + " to " + most;
    long value = get(key, range, config::getLong, least);
    return within(key, value >= least && value <= most, range, value, least);
  }

  double share(String key) {
    String range = "has to be a number from 0 to 1";
    double value = get(key, range, config::getDouble, 0.0);
    return within(key, value >= 0 && value <= 1, range, value, 0.0);
  }

  double number(String key, double least, double most) {
    String range = "has to be a number from " + plain(least) + " to " + plain(most);
    double value = get(key, range, config::getDouble, least);
    return within(key, value >= least && value <= most, range, value, least);
  }

  long bytes(String key) {
    String range = "has to be a size such as 64 MiB";
    long value = get(key, range, config::getBytes, 1L);
    return within(key, value > 0, range, value, 1L);
  }

  /** A size, or nothing where {@code auto} is written. */
  OptionalLong bytesOrAuto(String key) {
    String at = ConfigUtil.quoteString(key);
    if (config.hasPath(at) && config.getValue(at).unwrapped().equals("auto")) {
      read.add(key);
      return OptionalLong.empty();
    }
    return OptionalLong.of(bytes(key));
  }

  Duration duration(String key) {
    String range = "has to be a duration such as 500 ms or 10 s";
    Duration value = get(key, range, config::getDuration, Duration.ofSeconds(1));
    return within(key, value.isPositive(), range, value, Duration.ofSeconds(1));
  }

  /** A duration, or zero where that stands for never. */
  Duration durationOrNever(String key) {
    String range = "has to be a duration such as 2 s, or 0 s for never";
    Duration value = get(key, range, config::getDuration, Duration.ZERO);
    return within(key, !value.isNegative(), range, value, Duration.ZERO);
  }

  /** A duration, or null where {@code off} is written. */
  @Nullable Duration durationOrOff(String key) {
    String at = ConfigUtil.quoteString(key);
    if (config.hasPath(at) && config.getValue(at).unwrapped().equals("off")) {
      read.add(key);
      return null;
    }
    return duration(key);
  }

  <E extends Enum<E>> E choice(String key, Class<E> type) {
    E[] constants = type.getEnumConstants();
    String range =
        "has to be one of "
            + Arrays.stream(constants).map(ConfigSection::spelt).collect(Collectors.joining(", "));
    String value = get(key, range, config::getString, spelt(constants[0]));
    for (E constant : constants) {
      if (spelt(constant).equals(value)) {
        return constant;
      }
    }
    fault(key, range + ", not '" + value + "'");
    return constants[0];
  }

  /** An http or https address without a path. */
  URI url(String key) {
    String value = text(key);
    try {
      URI uri = URI.create(value);
      boolean plain = uri.getPath() == null || uri.getPath().isEmpty() || uri.getPath().equals("/");
      if (uri.getHost() != null && List.of("http", "https").contains(uri.getScheme()) && plain) {
        return URI.create(uri.getScheme() + "://" + uri.getRawAuthority());
      }
    } catch (IllegalArgumentException malformed) {
      // Reported below, like every other address that is none.
    }
    if (!value.isEmpty()) {
      fault(key, "has to be an address such as http://10.0.0.5:8000, without a path, not '" + value + "'");
    }
    return URI.create("http://localhost");
  }

  /** An http or https address that has {@code path} where none is written; nothing may be a value. */
  URI endpoint(String key, String path) {
    String value = text(key);
    try {
      URI uri = URI.create(value);
      if (uri.getHost() != null && List.of("http", "https").contains(uri.getScheme()) && uri.getFragment() == null) {
        boolean plain = uri.getPath() == null || uri.getPath().isEmpty() || uri.getPath().equals("/");
        return plain ? uri.resolve(path) : uri;
      }
    } catch (IllegalArgumentException malformed) {
      // Reported below, like every other address that is none.
    }
    if (!value.isEmpty()) {
      fault(key, "has to be an address such as http://10.0.0.7:8000" + path + ", not '" + value + "'");
    }
    return URI.create("http://localhost" + path);
  }

  /** The address of a Redis server. */
  URI redis(String key) {
    String url = name(key);
    try {
      URI uri = URI.create(url);
      if (uri.getHost() != null && List.of("redis", "rediss").contains(uri.getScheme())) {
        return uri;
      }
    } catch (IllegalArgumentException malformed) {
      // Reported below, like every other address that is none.
    }
    if (!url.isEmpty()) {
      fault(key, "has to be an address such as redis://10.0.0.9:6379/0");
    }
    return URI.create("redis://localhost");
  }

  /** The same section laid over {@code defaults}. */
  ConfigSection withFallback(Config defaults) {
    return new ConfigSection(config.withFallback(defaults), origin, path, faults);
  }

  /** A ZeroMQ endpoint, or nothing where nothing is a value. */
  String zmq(String key) {
    String value = text(key);
    if (!value.isEmpty() && !value.matches("(tcp://\\S+:\\d{1,5}|ipc://\\S+|inproc://\\S+)")) {
      fault(key, "has to be an endpoint such as tcp://10.0.0.5:5557, not '" + value + "'");
    }
    return value;
  }

  Map<String, String> labels(String key) {
    Map<String, String> labels = new LinkedHashMap<>();
    ConfigObject object = get(key, "has to be a section of labels { name = \"value\" }", config::getObject, NOTHING);
    object.forEach((name, value) -> labels.put(name, String.valueOf(value.unwrapped())));
    return labels;
  }

  /** Whatever is written there, as plain values. */
  Map<String, Object> values(String key) {
    return get(key, "has to be a section { ... }", config::getObject, NOTHING).unwrapped();
  }

  void fault(String key, String problem) {
    String at = ConfigUtil.quoteString(key);
    ConfigOrigin written = config.hasPath(at) ? config.getValue(at).origin() : origin;
    faults.add(new ConfigFault(place(written), full(key), problem));
  }

  /** Adds a fault that was found elsewhere. */
  void add(ConfigFault fault) {
    faults.add(fault);
  }

  /** Reports the keys that were not read. Called when the section has been read. */
  void rejectUnread() {
    for (Map.Entry<String, ConfigValue> entry : config.root().entrySet()) {
      String key = entry.getKey();
      if (!read.contains(key)) {
        String near = Spelling.nearest(key, read);
        faults.add(
            new ConfigFault(
                place(entry.getValue().origin()),
                full(key),
                "is no setting" + (near == null ? "; remove it" : "; did you mean '" + near + "'?")));
      }
    }
  }

  private <T> T within(String key, boolean good, String range, T value, T instead) {
    if (good) {
      return value;
    }
    if (config.hasPath(ConfigUtil.quoteString(key))) {
      fault(key, range + ", not " + value);
    }
    return instead;
  }

  private <T> T get(String key, String range, Function<String, T> getter, T instead) {
    read.add(key);
    String at = ConfigUtil.quoteString(key);
    try {
      return getter.apply(at);
    } catch (Missing missing) {
      fault(key, "is missing; " + range);
    } catch (com.typesafe.config.ConfigException wrong) {
      fault(key, range + ", not " + config.getValue(at).render());
    }
    return instead;
  }

  /** The whole path of a key. */
  String full(String key) {
    return path.isEmpty() ? key : path + "." + key;
  }

  /** The place of a value as far as it is known: a text without a name, such as a command's, has none. */
  static ConfigPlace place(ConfigOrigin origin) {
    boolean inFile = origin.filename() != null || origin.resource() != null;
    boolean named = origin.lineNumber() > 0 && !origin.description().startsWith("String");
    return inFile || named ? ConfigPlace.of(origin) : ConfigPlace.UNKNOWN;
  }

  private static String plain(double number) {
    return new BigDecimal(Double.toString(number)).stripTrailingZeros().toPlainString();
  }

  private static String spelt(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
