package io.kvasir.doctor.exam;

import io.kvasir.prompt.ModelConfig;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * All that was found.
 *
 * @param at when
 * @param engines one each
 * @param handOvers between prefill and decode engines
 * @param models the models of the router's configuration, with why their files cannot be loaded; null when the
 *     configuration is not known
 * @param certificates those that the configuration names
 * @param router null when no running router was asked
 */
public record Examination(
    Instant at,
    List<EngineExam> engines,
    List<HandOverExam> handOvers,
    @Nullable List<LoadedModel> models,
    List<CertificateExam> certificates,
    @Nullable RouterExam router) {
  /** Copies the lists. */
  public Examination {
    engines = List.copyOf(engines);
    handOvers = List.copyOf(handOvers);
    models = models == null ? null : List.copyOf(models);
    certificates = List.copyOf(certificates);
  }

  /**
   * A model of the configuration.
   *
   * @param failure why its files cannot be loaded, null when they are
   */
  public record LoadedModel(ModelConfig config, @Nullable String failure) {}

  /** The engines that answered, by each model they have. */
  public Map<String, List<EngineExam>> byModel() {
    Map<String, List<EngineExam>> byModel = new HashMap<>();
    for (EngineExam engine : engines) {
      if (engine.description() != null) {
        for (String model : engine.target().models()) {
          byModel.merge(model, List.of(engine), Examination::joined);
        }
      }
    }
    return byModel;
  }

  private static List<EngineExam> joined(List<EngineExam> some, List<EngineExam> more) {
    return Stream.concat(some.stream(), more.stream()).toList();
  }
}
