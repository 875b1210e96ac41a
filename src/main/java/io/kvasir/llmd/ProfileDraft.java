package io.kvasir.llmd;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** A profile while it is translated: it begins with what every profile of Kvasir has. One thread at a time. */
final class ProfileDraft {
  private static final PluginUse MAX_SCORE = PluginUse.of("max-score");

  private final ProfileEntry source;
  private final boolean step;
  private final List<PluginUse> prepare = new ArrayList<>();
  private final List<PluginUse> filter = new ArrayList<>();
  private final List<PluginUse> score = new ArrayList<>();
  private final Set<String> labels = new TreeSet<>();
  private PluginUse pick = MAX_SCORE;
  private @Nullable PluginUse sticky;
  private double nearness;

  /**
   * A draft of a profile.
   *
   * @param source the profile that it is of
   * @param step whether it is for a step of a workflow
   */
  ProfileDraft(ProfileEntry source, boolean step) {
    this.source = source;
    this.step = step;
    List.of("tokenize", "block-hash").forEach(plugin -> prepare.add(PluginUse.of(plugin)));
    List.of("role", "model", "excluded").forEach(plugin -> filter.add(PluginUse.of(plugin)));
    if (step) {
      prepare.add(PluginUse.of("partner"));
      filter.add(PluginUse.of("pair"));
    }
    filter.add(PluginUse.of("concurrency-limit"));
  }

  ProfileEntry source() {
    return source;
  }

  /** Whether it is for a step of a workflow, so that there is another step's worker. */
  boolean isStep() {
    return step;
  }

  void prepare(PluginUse plugin) {
    if (prepare.stream().noneMatch(other -> other.plugin().equals(plugin.plugin()))) {
      prepare.add(plugin);
    }
  }

  void filter(PluginUse plugin) {
    filter.add(plugin);
  }

  void score(PluginUse plugin) {
    score.add(plugin);
  }

  void pick(PluginUse plugin) {
    pick = plugin;
  }

  /** Keeps sessions with their workers, whichever picker chooses for new ones. */
  void stick(PluginUse plugin) {
    sticky = plugin;
  }

  /** The label of pods has to be known to workers. */
  void needLabel(String label) {
    labels.add(label);
  }

  Set<String> labels() {
    return labels;
  }

  /** Nearness to the other step's worker counts with this weight. */
  void preferNear(double weight) {
    nearness += weight;
  }

  double nearness() {
    return nearness;
  }

  boolean ignoresScores() {
    return sticky == null && pick.plugin().equals("random");
  }

  /** The profile; without scores any worker is as good as another, as in llm-d. */
  TranslatedProfile.Stages finish(String name) {
    PluginUse picker =
        sticky != null ? sticky
        : score.isEmpty() ? new PluginUse("random", pick.parameters().isEmpty() ? pick.parameters()
            : PluginUse.of("random").parameters(), pick.origin())
        : pick;
    return new TranslatedProfile.Stages(
        name,
        "llm-d's profile " + source.name(),
        prepare,
        filter,
        scorers(),
        picker);
  }

  /** The scorers; sessions are ranked by something, and be it by chance. */
  private List<PluginUse> scorers() {
    if (ignoresScores()) {
      return List.of();
    }
    return sticky != null && score.isEmpty() ? List.of(PluginUse.of("random")) : score;
  }
}
