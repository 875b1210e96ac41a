package io.kvasir.routing;

import java.util.function.Function;
import java.util.regex.Pattern;

/**
 * A type of plugin that profiles can name.
 *
 * @param name the name in profiles
 * @param stage the stage that it belongs to
 * @param required why every profile must name it, empty when it is optional
 * @param make makes an instance from its parameters; called once per selector, and at start-up to check them
 * @param <P> the stage's interface
 */
public record PluginType<P extends Plugin>(String name, Stage stage, String required, Function<Parameters, P> make) {
  private static final Pattern NAME = Pattern.compile("[a-z0-9][a-z0-9-]{0,39}");

  /**
   * Checks the name.
   *
   * @throws IllegalArgumentException when it is not at most 40 lower-case letters, digits and hyphens
   */
  public PluginType {
    if (!NAME.matcher(name).matches()) {
      throw new IllegalArgumentException(
          "a plugin's name is at most 40 lower-case letters, digits and hyphens, not \"" + name + "\"");
    }
  }

  /** A type of preparer. */
  public static PluginType<Preparer> preparer(String name, Function<Parameters, Preparer> make) {
    return new PluginType<>(name, Stage.PREPARE, "", make);
  }

  /** A type of filter that a profile may use. */
  public static PluginType<Filter> filter(String name, Function<Parameters, Filter> make) {
    return new PluginType<>(name, Stage.FILTER, "", make);
  }

  /** A type of filter that every profile must name, and the reason why. */
  public static PluginType<Filter> requiredFilter(String name, String reason, Function<Parameters, Filter> make) {
    return new PluginType<>(name, Stage.FILTER, reason, make);
  }

  /** A type of scorer. */
  public static PluginType<Scorer> scorer(String name, Function<Parameters, Scorer> make) {
    return new PluginType<>(name, Stage.SCORE, "", make);
  }

  /** A type of picker. */
  public static PluginType<Picker> picker(String name, Function<Parameters, Picker> make) {
    return new PluginType<>(name, Stage.PICK, "", make);
  }

  /** A type of execution policy. */
  public static PluginType<ExecutionPolicy> executionPolicy(String name, Function<Parameters, ExecutionPolicy> make) {
    return new PluginType<>(name, Stage.EXECUTE, "", make);
  }
}
