package io.kvasir.lab;

import io.kvasir.enginemodel.EngineModel;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The engines of a fleet, by slot.
 *
 * @param written as reports name them
 * @param engines the engine at each slot
 */
record EngineChoice(String written, List<Each> engines) {
  private static final Pattern PART = Pattern.compile("(?:(\\d{1,3})\\*)?([^*/]+)(?:/(\\d{1,3}(?:\\.\\d{1,3})?))?");

  EngineChoice {
    engines = List.copyOf(engines);
  }

  /**
   * One engine.
   *
   * @param model the model it bears the name of
   * @param slowness how many times as long it takes for every iteration as that name says
   */
  record Each(EngineModel model, double slowness) {}

  /**
   * Reads a choice as written: {@code NAME} for all workers, or {@code N*NAME} with commas between, whose numbers make
   * up the workers. {@code NAME/F} is an engine that takes F times as long as its name says.
   *
   * @throws IllegalArgumentException telling what is wrong and the form
   */
  static EngineChoice parse(String written, int workers) {
    List<Each> engines = new ArrayList<>();
    String[] parts = written.split(",", -1);
    for (String part : parts) {
      Matcher matcher = PART.matcher(part.strip());
      if (!matcher.matches()) {
        throw new IllegalArgumentException(
            "has to be a model for all workers, or such as 4*h100-Llama-3.1-8B-tp1,3*a100-Llama-3.1-8B-tp1,"
                + "1*h100-Llama-3.1-8B-tp1/2, where /2 is one that takes twice as long as its name says; is "
                + written);
      }
      EngineModel model = EngineModel.named(matcher.group(2));
      double slowness = matcher.group(3) == null ? 1 : Double.parseDouble(matcher.group(3));
      if (!(slowness > 0)) {
        throw new IllegalArgumentException("an engine takes more than 0 times as long as its name says, not " + part);
      }
      int count =
          matcher.group(1) != null ? Integer.parseInt(matcher.group(1)) : parts.length == 1 ? workers : 1;
      for (int i = 0; i < count; i++) {
        engines.add(new Each(model, slowness));
      }
    }
    if (engines.isEmpty() || engines.size() != workers) {
      throw new IllegalArgumentException(
          "there are " + workers + " workers and " + engines.size() + " engines: give as many, " + written);
    }
    return new EngineChoice(written, engines);
  }

  /** Whether all are of one model and speed. */
  boolean isUniform() {
    return engines.stream().distinct().count() == 1;
  }

  /** The model of the first, which stands for all where they are alike. */
  EngineModel first() {
    return engines.getFirst().model();
  }

  /** Tokens that all of them hold. */
  long kvTokens() {
    return engines.stream().mapToLong(engine -> engine.model().kvTokens()).sum();
  }
}
