package io.kvasir.llmd;

import io.kvasir.llmd.LlmdPlugin.Kind;
import io.kvasir.llmd.ProfileEntry.Reference;
import io.kvasir.llmd.TranslatedPart.Verdict;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;
import java.util.Set;

/** Translates an EndpointPickerConfig, rule by rule, and accounts for every part of it. */
public final class Translator {
  /** Parameters that name the plugin whose data another reads: here there is one index, and one ledger of load. */
  private static final List<String> WIRING =
      List.of(
          "prefixMatchInfoProducerName", "inFlightLoadProducerName", "topologyProducerName", "latencyProducerName",
          "sessionIdProducerName", "producerName");

  /** What pickers tell each other in llm-d: where that is set, in the versions of its files. */
  private static final List<String> SHARING =
      List.of(
          "crossReplica", "crossReplicaSyncerPluginRef", "crossReplicaSyncInterval", "crossReplicaPublishTimeout",
          "peerDiscovery");

  /** Gates of what is always done here. */
  private static final Set<String> NEEDLESS_GATES = Set.of("dataLayer", "prepareDataPlugins");

  /** As many addresses as the picker names at most. */
  private static final int MOST_ENDPOINTS = 16;

  private final EndpointPickerConfig config;
  private final TranslatedParts findings = new TranslatedParts();
  private final SequencedMap<String, Object> settings = new LinkedHashMap<>();
  private final ProfileNames names;
  private final HandlerRules handler;
  private final ProducerRules producers;

  private Translator(EndpointPickerConfig config, Set<String> shippedProfiles) {
    this.config = config;
    this.names = new ProfileNames(shippedProfiles, findings);
    this.handler = new HandlerRules(config);
    this.producers = new ProducerRules(settings, findings);
  }

  /**
   * Translates a file.
   *
   * @param text the file's text
   * @param shippedProfiles names that profiles must not have, because Kvasir's own have them
   * @throws UntranslatableException with every reason
   */
  public static PickerTranslation translate(String text, Set<String> shippedProfiles) throws UntranslatableException {
    List<Fault> faults = new ArrayList<>();
    YamlSection file = YamlSection.parse(text, faults);
    if (file.isEmpty() && !faults.isEmpty()) {
      throw new UntranslatableException(faults);
    }
    EndpointPickerConfig config = EndpointPickerConfig.read(file, faults);
    // Also where there are faults already: there may be more in what only the rules read.
    PickerTranslation translation = new Translator(config, shippedProfiles).translation(file.text("apiVersion", ""));
    if (!faults.isEmpty()) {
      throw new UntranslatableException(faults);
    }
    return translation;
  }

  private PickerTranslation translation(String apiVersion) {
    config.plugins().values().forEach(producers::apply);
    producers.finish();
    List<TranslatedProfile> profiles = profiles();
    new FlowControlRules(config, findings).apply(settings);
    gates();
    dataLayer();
    account();
    return new PickerTranslation(apiVersion, profiles, standard(profiles), settings, findings.sorted());
  }

  private String standard(List<TranslatedProfile> profiles) {
    return profiles.getLast() instanceof TranslatedProfile.Workflow workflow
        ? workflow.name()
        : names.of(handler.standard(findings));
  }

  private List<TranslatedProfile> profiles() {
    FilterRules filters = new FilterRules(findings);
    ScorerRules scorers = new ScorerRules(new PrefixTiers(config, findings), findings);
    Set<String> steps = handler.steps();
    List<ProfileDraft> drafts = new ArrayList<>();
    for (ProfileEntry profile : config.profiles()) {
      ProfileDraft draft = new ProfileDraft(profile, steps.contains(profile.name()));
      for (Reference reference : profile.plugins()) {
        apply(reference, draft, filters, scorers);
      }
      producers.addLabels(draft.labels());
      drafts.add(draft);
    }
    List<TranslatedProfile> profiles = new ArrayList<>();
    double nearness = drafts.stream().mapToDouble(ProfileDraft::nearness).sum();
    ProfileEntry standard = handler.standard(findings);
    for (ProfileDraft draft : drafts) {
      if (nearness > 0 && draft.isStep() && draft.source().equals(standard)) {
        draft.score(
            PluginUse.of(
                "near-prefill", "topology-affinity-scorer",
                "label", ProducerRules.zoneLabel(config), "normalise", "none", "weight", nearness));
        producers.addLabels(List.of(ProducerRules.zoneLabel(config)));
      }
      profiles.add(draft.finish(names.of(draft.source())));
    }
    SequencedMap<String, Object> workflow = handler.workflow(names, findings);
    if (workflow != null) {
      profiles.add(new TranslatedProfile.Workflow(names.free("llm-d"), "llm-d's profile handler", workflow));
    }
    return profiles;
  }

  private void apply(Reference reference, ProfileDraft draft, FilterRules filters, ScorerRules scorers) {
    PluginEntry plugin = reference.plugin();
    switch (plugin.type().kind()) {
      case FILTER, DETECTOR -> {
        if (plugin.type() == LlmdPlugin.HEADER_BASED_TESTING_FILTER) {
          settings.put("picker.conformance", true);
        }
        filters.apply(plugin, draft);
      }
      case SCORER -> scorers.apply(reference, draft);
      case PICKER -> picker(plugin, draft);
      case HANDLER, DECIDER, PRODUCER, DATA, PARSER, POLICY, ADMITTER -> findings.add(
          Verdict.NEEDLESS, plugin.part(), reference.line(), "llm-d does not run it as part of a profile either");
    }
    if (reference.weight() != null && plugin.type().kind() != Kind.SCORER) {
      findings.add(Verdict.NEEDLESS, plugin.part() + ": weight", reference.line(), "only scorers have a weight");
    }
  }

  private void picker(PluginEntry plugin, ProfileDraft draft) {
    int endpoints = plugin.parameters().whole("maxNumOfEndpoints", 1, 1, MOST_ENDPOINTS);
    if (endpoints > 1) {
      settings.put("picker.fallbacks", endpoints - 1);
      findings.parameter(
          Verdict.SIMILAR, plugin, "maxNumOfEndpoints",
          "picker.fallbacks; some gateways refuse more than one address (conf/README.md says which)");
    }
    switch (plugin.type()) {
      case RANDOM_PICKER -> draft.pick(PluginUse.of("random", plugin.part()));
      case WEIGHTED_RANDOM_PICKER -> draft.pick(PluginUse.of("weighted-random", plugin.part(), "temperature", 0.5));
      default -> draft.pick(PluginUse.of("max-score", plugin.part()));
    }
  }

  /** A finding for each gate but that of flow control, whose rules have it. */
  private void gates() {
    config.gates().stream()
        .filter(gate -> !gate.equals(FlowControlRules.GATE))
        .sorted()
        .forEach(
            gate -> {
              boolean needless = NEEDLESS_GATES.contains(gate);
              findings.add(
                  needless ? Verdict.NEEDLESS : Verdict.MISSING, "featureGates: " + gate, 0,
                  needless
                      ? "the data that plugins need is always there"
                      : "is no gate that Kvasir knows of llm-d; what it turns on there is not translated");
            });
  }

  /** What of the data layer is not a reference to plugins, which are accounted for as such. */
  private void dataLayer() {
    YamlSection dataLayer = config.dataLayer();
    for (String key : SHARING) {
      if (dataLayer.has(key)) {
        findings.add(
            Verdict.NEEDLESS, dataLayer.full(key), dataLayer.line(key),
            "router nodes are one cluster and share what each knows (cluster)");
      }
    }
    List.of("sources", "injectDefaults", "discovery").forEach(dataLayer::has);
    dataLayer.rejectUnread();
  }

  /** A finding for each plugin, and for each of its parameters that no rule has read. */
  private void account() {
    Set<PluginEntry> named = new HashSet<>();
    config.profiles().forEach(profile -> profile.plugins().forEach(reference -> named.add(reference.plugin())));
    for (PluginEntry plugin : config.plugins().values()) {
      LlmdPlugin type = plugin.type();
      boolean inProfile =
          switch (type.kind()) {
            case FILTER, SCORER, PICKER -> true;
            case HANDLER, DECIDER, PRODUCER, DATA, PARSER, DETECTOR, POLICY, ADMITTER -> false;
          };
      if (inProfile && !named.contains(plugin)) {
        findings.add(Verdict.NEEDLESS, plugin.part(), plugin.line(), "no profile names it");
        continue;
      }
      findings.add(type.verdict(), plugin.part(), plugin.line(), type.sentence());
      WIRING.forEach(plugin.parameters()::has);
      if (type.verdict() == Verdict.SAME || type.verdict() == Verdict.SIMILAR) {
        plugin.parameters().unread().keySet().forEach(
            parameter ->
                findings.parameter(Verdict.MISSING, plugin, parameter, "is left out: nothing here goes by it"));
      }
    }
  }
}
