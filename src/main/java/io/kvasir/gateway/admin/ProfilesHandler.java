package io.kvasir.gateway.admin;

import static io.kvasir.gateway.admin.AdminResponse.object;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.gateway.admin.ProfilesAdmin.ProfileFault;
import io.kvasir.gateway.admin.ProfilesAdmin.ReloadResult;
import io.kvasir.routing.LiveProfiles;
import io.kvasir.routing.Profile;
import io.kvasir.routing.ProfileChoice;
import io.kvasir.routing.Profiles;
import io.kvasir.routing.SettingDifference;
import io.kvasir.routing.Stage;
import io.kvasir.telemetry.MetricWindow.Figures;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * {@code /admin/profiles}: shows the profiles as they were compiled (GET), and reloads them (POST {@code
 * /admin/profiles/reload}). Thread-safe.
 */
public final class ProfilesHandler implements AdminResource {
  /** The path of the profiles. */
  public static final String PATH = "/admin/profiles";

  private final JsonMapper mapper = new JsonMapper();
  private final ProfilesAdmin admin;
  private final ProfileFigures figures;

  /** Over a node's profiles. */
  public ProfilesHandler(ProfilesAdmin admin, ProfileFigures figures) {
    this.admin = admin;
    this.figures = figures;
  }

  @Override
  public List<AdminRoute> routes() {
    return List.of(
        AdminRoute.get(PATH, _ -> AdminResponse.ok(shown())),
        AdminRoute.post(PATH + "/reload", _ -> reload()));
  }

  private AdminResponse reload() throws AdminException {
    return switch (admin.reload()) {
      case ReloadResult.Applied(LiveProfiles.Change change) -> AdminResponse.ok(changed(change));
      case ReloadResult.Rejected(List<ProfileFault> faults) -> throw refused(faults);
      case ReloadResult.NotSupported(String why) -> throw AdminException.of(409, why);
    };
  }

  private static ObjectNode changed(LiveProfiles.Change change) {
    ObjectNode body = object().put("result", change.isNone() ? "unchanged" : "changed");
    texts(body.putArray("added"), change.added());
    texts(body.putArray("removed"), change.removed());
    texts(body.putArray("changed"), change.changed());
    return body.put("choice_changed", change.choice());
  }

  private static AdminException refused(List<ProfileFault> faults) {
    return AdminException.faulty(
        422,
        "%s: nothing was changed, the profiles before stay in service"
            .formatted(faults.size() == 1 ? "there is a fault" : "there are " + faults.size() + " faults"),
        faults.stream().map(ProfilesHandler::fault).toList());
  }

  private static ObjectNode fault(ProfileFault fault) {
    ObjectNode entry = AdminException.fault(fault.setting(), fault.problem());
    if (!fault.remedy().isEmpty()) {
      entry.put("remedy", fault.remedy());
    }
    if (fault.profile() != null) {
      entry.put("profile", fault.profile());
    }
    if (fault.plugin() != null) {
      entry.put("plugin", fault.plugin());
    }
    return entry.put("file", fault.file()).put("line", fault.line());
  }

  private ObjectNode shown() {
    Profiles profiles = admin.profiles().current();
    ProfileChoice choice = profiles.choice();
    ObjectNode body = object().put("loaded_at", admin.loadedAt().toString());
    ObjectNode chosen = body.putObject("choice").put("standard", choice.standard());
    names(chosen.putObject("models"), choice.models());
    names(chosen.putObject("tenants"), choice.tenants());
    texts(chosen.putArray("tenant_headers"), choice.tenantHeaders());
    chosen.put("header_allowed", choice.header());
    ArrayNode list = body.putArray("profiles");
    Figures now = figures.now();
    for (Profile profile : profiles.byName().values()) {
      ObjectNode entry = shown(profile);
      putDifferences(entry, profile.differences());
      entry.set("figures", ProfileFigures.of(now, profile.name()));
      list.add(entry);
    }
    return body;
  }

  private void putDifferences(ObjectNode entry, @Nullable List<SettingDifference> differences) {
    if (differences != null) {
      ArrayNode list = entry.putArray("differences");
      for (SettingDifference each : differences) {
        ObjectNode difference = list.addObject().put("setting", each.setting());
        difference.set("default", masked(each.setting(), each.shipped()));
        difference.set("value", masked(each.setting(), each.value()));
      }
    }
  }

  private JsonNode masked(String setting, @Nullable Object value) {
    return SecretMask.masked(setting, mapper.valueToTree(value));
  }

  private ObjectNode shown(Profile profile) {
    ObjectNode shown = object().put("name", profile.name()).put("description", profile.description());
    if (!profile.steps().isEmpty()) {
      ObjectNode steps = shown.putObject("steps");
      profile.steps().forEach((step, decider) -> steps.set(step, shown(decider)));
      return shown;
    }
    ObjectNode stages = shown.putObject("stages");
    Map<String, SlotUse> flows = new TreeMap<>();
    for (Stage stage : Stage.values()) {
      ArrayNode plugins = stages.putArray(stage.key());
      for (Profile.PluginInfo part : profile.parts()) {
        if (part.stage() == stage) {
          plugins.add(shown(part));
          part.writes().forEach(slot -> flows.computeIfAbsent(slot, SlotUse::new).writers.add(part.plugin()));
          part.reads().forEach(slot -> flows.computeIfAbsent(slot, SlotUse::new).readers.add(part.plugin()));
        }
      }
    }
    ArrayNode slots = shown.putArray("slots");
    flows.values().forEach(flow -> slots.add(flow.shown()));
    Profile otherwise = profile.otherwise();
    if (otherwise != null) {
      shown.put("otherwise", otherwise.name());
    }
    return shown;
  }

  private ObjectNode shown(Profile.PluginInfo part) {
    ObjectNode shown = object().put("plugin", part.plugin());
    shown.set("parameters", SecretMask.masked("", mapper.valueToTree(part.parameters())));
    if (part.stage() == Stage.SCORE) {
      shown.put("weight", part.weight()).put("normalise", part.normalise());
    }
    shown.put("from", part.place().toString());
    texts(shown.putArray("reads"), part.reads());
    texts(shown.putArray("writes"), part.writes());
    return shown;
  }

  /** Who fills a slot and who looks at it. */
  private record SlotUse(String slot, Collection<String> writers, Collection<String> readers) {
    SlotUse(String slot) {
      this(slot, new TreeSet<>(), new TreeSet<>());
    }

    ObjectNode shown() {
      ObjectNode shown = object().put("slot", slot);
      texts(shown.putArray("written_by"), writers);
      texts(shown.putArray("read_by"), readers);
      return shown;
    }
  }

  private static void names(ObjectNode into, Map<String, String> names) {
    new TreeMap<>(names).forEach(into::put);
  }

  private static void texts(ArrayNode into, Collection<String> texts) {
    texts.forEach(into::add);
  }
}
