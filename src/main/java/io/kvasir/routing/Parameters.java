package io.kvasir.routing;

import com.typesafe.config.ConfigException;
import com.typesafe.config.ConfigList;
import com.typesafe.config.ConfigObject;
import com.typesafe.config.ConfigValue;
import com.typesafe.config.ConfigValueType;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The parameters a profile gives a plugin. A plugin's factory reads each of its own by name; a value of the
 * wrong type or out of range becomes a fault and reads as the default, so that all faults come to light at
 * once, and a parameter nobody reads is a fault, too.
 */
public final class Parameters {
  private final ConfigObject given;
  private final @Nullable FaultSite site;
  private final Set<String> known = new TreeSet<>();

  /** Where faults go: none are expected of parameters that have been proven before. */
  Parameters(ConfigObject given, @Nullable FaultSite site) {
    this.given = given;
    this.site = site;
  }

  /** A number between {@code least} and {@code most}, both included. */
  public double number(String name, double fallback, double least, double most) {
    ConfigValue value = read(name);
    if (value == null) {
      return fallback;
    }
    if (value.valueType() == ConfigValueType.NUMBER && value.unwrapped() instanceof Number number) {
      double read = number.doubleValue();
      if (read >= least && read <= most) {
        return read;
      }
    }
    wrong(name, value, "a number " + range(number(least), number(most)));
    return fallback;
  }

  /** A whole number between {@code least} and {@code most}, both included. */
  public int whole(String name, int fallback, int least, int most) {
    ConfigValue value = read(name);
    if (value == null) {
      return fallback;
    }
    if (value.valueType() == ConfigValueType.NUMBER && value.unwrapped() instanceof Number number) {
      double read = number.doubleValue();
      if (read == Math.rint(read) && read >= least && read <= most) {
        return (int) read;
      }
    }
    wrong(name, value, "a whole number " + range(number(least), number(most)));
    return fallback;
  }

  /** True or false. */
  public boolean flag(String name, boolean fallback) {
    ConfigValue value = read(name);
    if (value == null) {
      return fallback;
    }
    if (value.valueType() == ConfigValueType.BOOLEAN) {
      return Boolean.TRUE.equals(value.unwrapped());
    }
    wrong(name, value, "true or false");
    return fallback;
  }

  /** A text, which may be empty. */
  public String text(String name, String fallback) {
    ConfigValue value = read(name);
    if (value == null) {
      return fallback;
    }
    if (value.valueType() == ConfigValueType.STRING) {
      return String.valueOf(value.unwrapped());
    }
    wrong(name, value, "a text");
    return fallback;
  }

  /** A list of texts, none of them blank; it may be empty. */
  public List<String> texts(String name, List<String> fallback) {
    ConfigValue value = read(name);
    if (value == null) {
      return fallback;
    }
    if (value instanceof ConfigList list
        && list.stream().allMatch(entry -> entry.unwrapped() instanceof String text && !text.isBlank())) {
      return list.stream().map(entry -> String.valueOf(entry.unwrapped())).toList();
    }
    wrong(name, value, "a list of texts");
    return fallback;
  }

  /** A time such as {@code 10 m}, between {@code least} and {@code most}, both included. */
  public Duration duration(String name, Duration fallback, Duration least, Duration most) {
    ConfigValue value = read(name);
    if (value == null) {
      return fallback;
    }
    try {
      Duration duration = value.atKey("at").getDuration("at");
      if (duration.compareTo(least) >= 0 && duration.compareTo(most) <= 0) {
        return duration;
      }
    } catch (ConfigException notOne) {
      // Reported below, like one that is out of range.
    }
    wrong(name, value, "a time such as 10 m, from " + least.toSeconds() + " s to " + most.toSeconds() + " s");
    return fallback;
  }

  /** One of an enum's constants, written in lower case with hyphens. */
  public <E extends Enum<E>> E choice(String name, E fallback) {
    ConfigValue value = read(name);
    if (value == null) {
      return fallback;
    }
    List<E> constants = Arrays.asList(fallback.getDeclaringClass().getEnumConstants());
    for (E constant : constants) {
      if (written(constant).equals(value.unwrapped())) {
        return constant;
      }
    }
    wrong(name, value, "one of " + String.join(", ", constants.stream().map(Parameters::written).toList()));
    return fallback;
  }

  /** Reports every parameter that was given and that no factory has asked for. */
  void reportUnknown() {
    for (Map.Entry<String, ConfigValue> parameter : new TreeMap<>(given).entrySet()) {
      String name = parameter.getKey();
      if (!known.contains(name) && site != null) {
        site.fault(
            parameter.getValue(),
            "has no parameter \"" + name + "\"",
            known.isEmpty() ? "remove it: the plugin takes none" : Spelling.suggestion(name, "parameters", known));
      }
    }
  }

  private @Nullable ConfigValue read(String name) {
    known.add(name);
    return given.get(name);
  }

  private void wrong(String name, ConfigValue value, String expected) {
    if (site != null) {
      site.fault(
          value,
          "parameter \"" + name + "\" is " + FaultSite.shown(value),
          "give " + expected);
    }
  }

  private static String range(String least, String most) {
    return "between " + least + " and " + most;
  }

  private static String number(double bound) {
    return new BigDecimal(Double.toString(bound)).stripTrailingZeros().toPlainString();
  }

  /** An enum's constant as profiles write it. */
  static String written(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
