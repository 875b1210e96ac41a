package io.kvasir.llmd;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;

/** A profile of Kvasir that stands for one of llm-d's, or for its profile handler. */
public sealed interface TranslatedProfile {
  /** The profile's name. */
  String name();

  /** What it is, in a line. */
  String description();

  /**
   * A profile that chooses one worker.
   *
   * @param name its name
   * @param description what it is
   * @param prepare the preparers
   * @param filter the filters
   * @param score the scorers, none where the picker takes no scores
   * @param pick the picker
   */
  record Stages(
      String name,
      String description,
      List<PluginUse> prepare,
      List<PluginUse> filter,
      List<PluginUse> score,
      PluginUse pick)
      implements TranslatedProfile {
    /** Copies the lists. */
    public Stages {
      prepare = List.copyOf(prepare);
      filter = List.copyOf(filter);
      score = List.copyOf(score);
    }
  }

  /**
   * A profile that chooses a worker for each step of a workflow.
   *
   * @param name its name
   * @param description what it is
   * @param settings of the workflow, its name and the profile of each step among them
   */
  record Workflow(String name, String description, SequencedMap<String, Object> settings)
      implements TranslatedProfile {
    /** Copies the map. */
    public Workflow {
      settings = Collections.unmodifiableSequencedMap(new LinkedHashMap<>(settings));
    }
  }
}
