package io.kvasir.routing;

import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigList;
import com.typesafe.config.ConfigObject;
import com.typesafe.config.ConfigValue;
import com.typesafe.config.ConfigValueType;
import io.kvasir.routing.Profile.PluginUse;
import io.kvasir.routing.ScoreSum.Normalisation;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reads one profile and records its faults. After a fault it continues with everything that can still be checked, so
 * that all faults are reported at once, without those that only follow from others.
 */
final class ProfileReader {
  private static final Pattern NAME = Pattern.compile("[a-z0-9][a-z0-9-]{0,39}");
  static final String DESCRIPTION = "description";
  static final String WORKFLOW = "workflow";
  static final String OTHERWISE = "otherwise";
  static final String PLUGIN = "plugin";
  private static final String WEIGHT = "weight";
  private static final String NORMALISE = "normalise";
  private static final double MIN_WEIGHT = 1e-6;
  private static final double MAX_WEIGHT = 1e6;
  private static final List<String> KEYS =
      List.of(DESCRIPTION, "prepare", "filter", "score", "pick", "execute", OTHERWISE, WORKFLOW);

  private final PluginRegistry plugins;
  private final StageProfiles others;
  private final FaultSite site;
  private final List<SlotProof.Mention> mentions = new ArrayList<>();

  /** Keys and plugins that misspelt names probably stand for: their absence is no second fault. */
  private final Set<String> suggested = new HashSet<>();
  /** Whether a plugin could not be read: checks that need all plugins are then skipped. */
  private boolean incomplete;

  /** A reader for one profile, which may name {@code others}. */
  ProfileReader(PluginRegistry plugins, StageProfiles others, FaultSite site) {
    this.plugins = plugins;
    this.others = others;
    this.site = site;
  }

  /** Reports a profile's name that headers and labels cannot have. */
  static void checkName(FaultSite site, ConfigValue written) {
    if (!NAME.matcher(site.profile()).matches()) {
      site.fault(
          written,
          "its name cannot be used in headers and metric labels",
          "use at most 40 lower-case letters, digits and hyphens");
    }
  }

  /** The profile; null when a fault leaves none. */
  @Nullable Profile read(ConfigValue written) {
    if (!(written instanceof ConfigObject profile)) {
      site.fault(written, "is " + FaultSite.shown(written), "give an object with " + String.join(", ", KEYS));
      return null;
    }
    for (Map.Entry<String, ConfigValue> entry : new TreeMap<>(profile).entrySet()) {
      String key = entry.getKey();
      if (!KEYS.contains(key)) {
        site.fault(entry.getValue(), "has no key \"" + key + "\"", suggestion(key, "keys", KEYS));
      }
    }
    String description = description(site, profile);
    List<PluginUse<Preparer>> preparers = stage(profile, Stage.PREPARE, Preparer.class);
    List<PluginUse<Filter>> filters = stage(profile, Stage.FILTER, Filter.class);
    List<PluginUse<Scorer>> scorers = stage(profile, Stage.SCORE, Scorer.class);
    List<PluginUse<Picker>> pickers = stage(profile, Stage.PICK, Picker.class);
    List<PluginUse<ExecutionPolicy>> policies = stage(profile, Stage.EXECUTE, ExecutionPolicy.class);
    ConfigValue named = profile.get(OTHERWISE);
    Profile otherwise =
        named != null && named.valueType() != ConfigValueType.NULL ? others.resolve(named, OTHERWISE, site) : null;
    checkExactlyOne(profile, Stage.PICK);
    checkExactlyOne(profile, Stage.EXECUTE);
    checkRequiredFilters(profile);
    if (!incomplete) {
      checkPickerReadsScores(profile);
      new SlotProof(plugins, site, profile, mentions).check();
    }
    return pickers.size() == 1 && policies.size() == 1
        ? Profile.of(
            site.profile(),
            description,
            profile,
            new Profile.Stages(preparers, filters, scorers, pickers.getFirst(), policies.getFirst(), otherwise))
        : null;
  }

  static String description(FaultSite site, ConfigObject profile) {
    ConfigValue value = profile.get(DESCRIPTION);
    if (value == null) {
      return "";
    }
    if (value.valueType() != ConfigValueType.STRING) {
      site.fault(value, "\"" + DESCRIPTION + "\" is " + FaultSite.shown(value), "give a text");
    }
    return String.valueOf(value.unwrapped());
  }

  private static List<? extends ConfigValue> mentioned(ConfigObject profile, Stage stage) {
    ConfigValue value = profile.get(stage.key());
    if (value == null || value.valueType() == ConfigValueType.NULL) {
      return List.of();
    }
    return value instanceof ConfigList list ? list : List.of(value);
  }

  private <P extends Plugin> List<PluginUse<P>> stage(ConfigObject profile, Stage stage, Class<P> kind) {
    List<? extends ConfigValue> mentioned = mentioned(profile, stage);
    Normalisation defaultNormalisation = mentioned.size() > 1 ? Normalisation.MIN_MAX : Normalisation.NONE;
    List<PluginUse<P>> uses = new ArrayList<>();
    for (ConfigValue mention : mentioned) {
      PluginUse<P> use = use(mention, stage, kind, defaultNormalisation);
      if (use == null) {
        incomplete = true;
      } else {
        uses.add(use);
      }
    }
    return uses;
  }

  /** Reads a mention: a plugin's name, or an object with the name under {@code plugin} and its parameters. */
  private <P extends Plugin> @Nullable PluginUse<P> use(
      ConfigValue mention, Stage stage, Class<P> kind, Normalisation defaultNormalisation) {
    ConfigValue named = mention instanceof ConfigObject object ? object.get(PLUGIN) : mention;
    if (named == null || named.valueType() != ConfigValueType.STRING) {
      site.fault(
          mention,
          "\"" + stage.key() + "\" has " + FaultSite.shown(mention) + ", which names no plugin",
          "write a " + stage.noun() + "'s name, or { plugin = NAME, PARAMETER = VALUE }");
      return null;
    }
    String name = String.valueOf(named.unwrapped());
    FaultSite here = site.forPlugin(name);
    PluginType<?> type = plugins.find(stage, name);
    if (type == null) {
      here.fault(named, "there is no " + stage.noun() + " of this name", elsewhere(stage, name));
      return null;
    }
    ConfigObject given =
        mention instanceof ConfigObject object ? object.withoutKey(PLUGIN) : ConfigFactory.empty().root();
    double weight = 1;
    Normalisation normalisation = defaultNormalisation;
    if (stage == Stage.SCORE) {
      Parameters common = new Parameters(given, here);
      weight = common.number(WEIGHT, 1, MIN_WEIGHT, MAX_WEIGHT);
      normalisation = common.choice(NORMALISE, defaultNormalisation);
      given = given.withoutKey(WEIGHT).withoutKey(NORMALISE);
    }
    P plugin = tryMake(type, kind, given, here, mention);
    if (plugin == null) {
      return null;
    }
    mentions.add(new SlotProof.Mention(name, stage, mention, plugin));
    return new PluginUse<>(
        name, stage, ConfigPlace.of(mention.origin()), plugin, type.make(), kind, given, weight,
        normalisation);
  }

  /** Makes the plugin once to check its parameters, and reports their faults. */
  private static <P extends Plugin> @Nullable P tryMake(
      PluginType<?> type, Class<P> kind, ConfigObject given, FaultSite here, ConfigValue mention) {
    Parameters parameters = new Parameters(given, here);
    try {
      P plugin = kind.cast(type.make().apply(parameters));
      parameters.reportUnknown();
      return plugin;
    } catch (IllegalArgumentException e) {
      here.fault(mention, "cannot work with its parameters: " + e.getMessage(), "change them");
      return null;
    } catch (RuntimeException | LinkageError e) {
      here.fault(mention, "cannot be made: " + rootOf(e), "ask its author, or remove it");
      return null;
    }
  }

  private static Throwable rootOf(Throwable thrown) {
    Throwable root = thrown;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    return root;
  }

  private String elsewhere(Stage stage, String name) {
    Stage other = plugins.stageOf(name);
    return other == null
        ? suggestion(name, stage.noun() + "s", plugins.names(stage))
        : "it is a " + other.noun() + ": move it to \"" + other.key() + "\"";
  }

  private String suggestion(String written, String plural, Collection<String> names) {
    String nearest = Spelling.nearest(written, names);
    if (nearest != null) {
      suggested.add(nearest);
    }
    return Spelling.suggestion(written, plural, names);
  }

  private void checkExactlyOne(ConfigObject profile, Stage stage) {
    int count = mentioned(profile, stage).size();
    ConfigValue at = profile.getOrDefault(stage.key(), profile);
    if (count == 0 && !suggested.contains(stage.key())) {
      site.fault(
          at,
          "names no " + stage.noun(),
          "add " + stage.key() + " = NAME; the " + stage.noun() + "s are "
              + String.join(", ", plugins.names(stage)));
    } else if (count > 1) {
      site.fault(at, "names " + count + " " + stage.noun() + "s", "keep exactly one under \"" + stage.key() + "\"");
    }
  }

  private void checkRequiredFilters(ConfigObject profile) {
    for (PluginType<?> type : plugins.types(Stage.FILTER)) {
      if (!type.required().isEmpty() && !suggested.contains(type.name()) && !filters(profile, type.name())) {
        site.fault(
            profile.getOrDefault(Stage.FILTER.key(), profile),
            "does not filter by " + type.name() + ", so " + type.required(),
            "add " + type.name() + " to \"" + Stage.FILTER.key() + "\"");
      }
    }
  }

  private static boolean filters(ConfigObject profile, String name) {
    return mentioned(profile, Stage.FILTER).stream()
        .map(mention -> mention instanceof ConfigObject object ? object.get(PLUGIN) : mention)
        .anyMatch(named -> named != null && name.equals(named.unwrapped()));
  }

  /** Reports scores that the picker does not read, and a picker that reads scores when there are no scorers. */
  private void checkPickerReadsScores(ConfigObject profile) {
    boolean scored = mentions.stream().anyMatch(mention -> mention.stage() == Stage.SCORE);
    for (SlotProof.Mention mention : mentions) {
      if (mention.plugin() instanceof Picker picker && picker.readsScores() != scored) {
        site.forPlugin(mention.name())
            .fault(
                mention.at(),
                scored ? "does not read the scores that this profile computes" : "ranks by score, and nothing scores",
                scored
                    ? "remove \"score\", or pick with one that does, such as max-score"
                    : "add \"score\"; the scorers are " + String.join(", ", plugins.names(Stage.SCORE)));
      }
    }
    if (profile.get(Stage.SCORE.key()) instanceof ConfigList list && list.isEmpty()) {
      site.fault(list, "\"score\" is empty", "remove it or name a scorer");
    }
  }
}
