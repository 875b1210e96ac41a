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
 * The parameters of a plugin in a profile. A plugin's factory reads each by name. A value of the wrong type or out of
 * range is recorded as a fault and reads as the default, so that all faults are reported at once; a parameter that is
 * never read is a fault, too.
 */
public final class Parameters {
  private final ConfigObject given;
  private final @Nullable FaultSite site;
  private final Set<String> known = new TreeSet<>();

  /** Parameters; {@code site} records faults, null for parameters that have been checked before. */
  Parameters(ConfigObject given, @Nullable FaultSite site) {
    this.given = given;
    this.site = site;
  }

  /** A number between {@code min} and {@code max}, both included. */
  public double number(String name, double fallback, double min, double max) {
    ConfigValue value = read(name);
    if (value == null) {
      return fallback;
    }
    if (value.valueType() == ConfigValueType.NUMBER && value.unwrapped() instanceof Number number) {
      double read = number.doubleValue();
      if (read >= min && read <= max) {
        return read;
      }
    }
    invalid(name, value, "a number " + range(number(min), number(max)));
    return fallback;
  }

  /** A whole number between {@code min} and {@code max}, both included. */
  public int whole(String name, int fallback, int min, int max) {
    ConfigValue value = read(name);
    if (value == null) {
      return fallback;
    }
    if (value.valueType() == ConfigValueType.NUMBER && value.unwrapped() instanceof Number number) {
      double read = number.doubleValue();
      if (read == Math.rint(read) && read >= min && read <= max) {
        return (int) read;
      }
    }
    invalid(name, value, "a whole number " + range(number(min), number(max)));
    return fallback;
  }

  /** A boolean. */
  public boolean flag(String name, boolean fallback) {
    ConfigValue value = read(name);
    if (value == null) {
      return fallback;
    }
    if (value.valueType() == ConfigValueType.BOOLEAN) {
      return Boolean.TRUE.equals(value.unwrapped());
    }
    invalid(name, value, "true or false");
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
    invalid(name, value, "a text");
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
    invalid(name, value, "a list of texts");
    return fallback;
  }

  /** A time such as {@code 10 m}, between {@code min} and {@code max}, both included. */
  public Duration duration(String name, Duration fallback, Duration min, Duration max) {
    ConfigValue value = read(name);
    if (value == null) {
      return fallback;
    }
    try {
      Duration duration = value.atKey("at").getDuration("at");
      if (duration.compareTo(min) >= 0 && duration.compareTo(max) <= 0) {
        return duration;
      }
    } catch (ConfigException notADuration) {
      // Reported below, like one that is out of range.
    }
    invalid(name, value, "a time such as 10 m, from " + min.toSeconds() + " s to " + max.toSeconds() + " s");
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
      if (configName(constant).equals(value.unwrapped())) {
        return constant;
      }
    }
    invalid(name, value, "one of " + String.join(", ", constants.stream().map(Parameters::configName).toList()));
    return fallback;
  }

  /** Reports every parameter that no factory has read. */
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

  private void invalid(String name, ConfigValue value, String expected) {
    if (site != null) {
      site.fault(
          value,
          "parameter \"" + name + "\" is " + FaultSite.shown(value),
          "give " + expected);
    }
  }

  private static String range(String min, String max) {
    return "between " + min + " and " + max;
  }

  private static String number(double bound) {
    return new BigDecimal(Double.toString(bound)).stripTrailingZeros().toPlainString();
  }

  /** An enum constant's name in profiles: lower case with hyphens. */
  static String configName(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
