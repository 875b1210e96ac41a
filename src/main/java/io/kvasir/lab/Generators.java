package io.kvasir.lab;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;

/** The generators by name: {@code gen:NAME} or {@code gen:NAME?KEY=NUMBER&KEY=NUMBER}. */
final class Generators {
  /** The prefix of their names. */
  static final String PREFIX = "gen:";

  private static final Map<String, Function<GeneratorParameters, TraceSource>> KINDS = new LinkedHashMap<>();

  static {
    KINDS.put("shared-prefix", SharedPrefixGenerator::new);
    KINDS.put("sessions", SessionsGenerator::new);
    KINDS.put("agents", AgentsGenerator::new);
    KINDS.put("bursts", BurstsGenerator::new);
    KINDS.put("day", DayGenerator::new);
  }

  private Generators() {}

  /**
   * The generator of a name.
   *
   * @throws IllegalArgumentException with all faults of the name
   */
  static TraceSource parse(String written) {
    int question = written.indexOf('?');
    String kind = written.substring(PREFIX.length(), question < 0 ? written.length() : question);
    Function<GeneratorParameters, TraceSource> factory = KINDS.get(kind);
    if (factory == null) {
      throw new IllegalArgumentException(
          "there is no generator '" + kind + "'; there are " + String.join(", ", KINDS.keySet()));
    }
    GeneratorParameters parameters =
        new GeneratorParameters(written, question < 0 ? "" : written.substring(question + 1));
    TraceSource source = factory.apply(parameters);
    parameters.check();
    return source;
  }
}
