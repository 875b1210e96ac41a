package io.kvasir.discovery;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigRenderOptions;
import io.kvasir.cell.PodSpec.Learnt;
import io.kvasir.cell.PodSpec;
import io.kvasir.engines.EngineDescription;
import io.kvasir.engines.EngineIdentity;
import io.kvasir.engines.EventOrigin;
import io.kvasir.engines.EventPublishing;
import io.kvasir.engines.PodSettings;
import io.kvasir.engines.SurveyedEngine;
import io.kvasir.telemetry.Problem;
import java.util.List;
import java.util.Optional;

/**
 * What an engine told of its pod.
 *
 * @param name for a pod that has none
 * @param settings of the pod, by the configuration's names
 * @param engine by what its engine is recognised
 * @param announcesEvents whether it tells where it publishes cache events, or that it does not
 * @param remarks what the engine does not tell or could do better, each a sentence with the remedy
 */
public record LearntPod(
    String name, ObjectNode settings, EngineIdentity engine, boolean announcesEvents, List<String> remarks) {
  private static final String EVENTS = "events";

  /** What a survey found. */
  public static LearntPod of(SurveyedEngine engine) {
    return new LearntPod(
        engine.name(), PodSettings.of(engine), engine.description().identity(),
        announcesEvents(engine), engine.remarks());
  }

  private static boolean announcesEvents(SurveyedEngine engine) {
    return switch (engine.description().events()) {
      case EventPublishing.Untold _ -> false;
      case EventPublishing.BoundOrDialled _ -> engine.events() instanceof EventOrigin.Announced;
      case EventPublishing.Zmq _, EventPublishing.TooMany _, EventPublishing.Unusable _,
          EventPublishing.UntoldPorts _, EventPublishing.Withheld _, EventPublishing.Off _ -> true;
    };
  }

  /**
   * The same, with the events that were found before where the engine does not tell of any: that nobody was found at
   * an endpoint this time proves nothing of a stream that is read.
   */
  LearntPod after(LearntPod before) {
    if (announcesEvents || !engine.equals(before.engine) || settings.has(EVENTS) || !before.settings.has(EVENTS)) {
      return this;
    }
    ObjectNode kept = settings.deepCopy();
    kept.set(EVENTS, before.settings.get(EVENTS));
    return new LearntPod(name, kept, engine, false, before.remarks);
  }

  /** What is wrong with what a pod's engine told; empty where nothing is, or all of the pod was described. */
  static Optional<Problem> problem(PodSpec pod) {
    return pod.learnt() == null || pod.models().size() < EngineDescription.MAX_MODELS
        ? Optional.empty()
        : Optional.of(
            Problem.warning(
                "the engine of pod %s names so many models and adapters that only %,d are taken".formatted(
                    pod.name(), EngineDescription.MAX_MODELS),
                "describe the pod with the models that it should serve, or have the engine load fewer"));
  }

  /** A description with what it leaves open; what it has wins, each setting as a whole. */
  public Config complete(Config described) {
    Config told = ConfigFactory.parseString(settings.toString());
    Config completed = described;
    for (String setting : told.root().keySet()) {
      if (!described.root().containsKey(setting)) {
        completed = completed.withValue(setting, told.root().get(setting));
      }
    }
    return completed;
  }

  /** What a pod with this description has learnt. */
  public Learnt learnt(Config described) {
    return new Learnt(described.root().render(ConfigRenderOptions.concise()), engine.toString(), remarks);
  }
}
