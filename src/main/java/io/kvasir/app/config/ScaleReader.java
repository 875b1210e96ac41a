package io.kvasir.app.config;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.app.config.KvasirConfig.ScalingConfig;
import io.kvasir.cell.FromZeroSettings;
import io.kvasir.http.TlsFiles;
import io.kvasir.routing.Role;
import io.kvasir.scale.ScaleGoals;
import io.kvasir.scale.ScaleTarget;
import io.kvasir.scale.keda.KedaSettings;
import io.kvasir.scale.live.ScaleSettings;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Reads {@code kvasir.scale}; faults are reported whether its parts are on or off. */
final class ScaleReader {
  private static final int MOST_WORKERS = 10_000;

  private ScaleReader() {}

  static ScalingConfig read(ConfigSection scale) {
    ScaleGoals standard = goals(scale);
    Map<String, ScaleGoals> byModel = new HashMap<>();
    Set<ScaleTarget> fromZero = new LinkedHashSet<>();
    for (ConfigSection model : scale.sections("models", written(scale))) {
      String name = model.name("name");
      ScaleGoals goals = goals(model);
      if (byModel.put(name, goals) != null) {
        model.fault("name", "'" + name + "' is described twice");
      }
      List<Role> roles = roles(model);
      if (goals.least() == 0) {
        roles.forEach(role -> fromZero.add(new ScaleTarget(name, role)));
      }
      model.rejectUnread();
    }
    ScaleSettings advice =
        new ScaleSettings(scale.flag("enabled"), scale.duration("interval"), standard, Map.copyOf(byModel), fromZero);
    KedaSettings keda = keda(scale.section("keda"));
    if (keda != null && !advice.enabled()) {
      scale.fault("keda.enabled", "needs kvasir.scale.enabled: without advice there is nothing to answer");
    }
    FromZeroSettings waits = fromZero(scale.section("from-zero"), advice);
    roles(scale);
    scale.rejectUnread();
    return new ScalingConfig(advice, keda, waits);
  }

  private static FromZeroSettings fromZero(ConfigSection section, ScaleSettings advice) {
    FromZeroSettings settings =
        new FromZeroSettings(
            advice.enabled()
                ? advice.fromZero().stream().map(ScaleTarget::model).collect(Collectors.toSet())
                : Set.of(),
            section.duration("wait"),
            section.count("most-waiting", 1, 1_000_000));
    section.rejectUnread();
    return settings;
  }

  private static List<Role> roles(ConfigSection section) {
    List<Role> roles = new ArrayList<>();
    List<String> names = section.texts("roles");
    for (String name : names) {
      Arrays.stream(Role.values())
          .filter(role -> role.label().equals(name))
          .findFirst()
          .ifPresentOrElse(
              roles::add,
              () -> section.fault("roles", "'" + name + "' is no role; there are both, prefill and decode"));
    }
    if (names.isEmpty()) {
      section.fault("roles", "is empty; give it [both], or [prefill, decode]");
    }
    return roles;
  }

  /** The goals of all models, over which a model's own are laid. */
  private static Config written(ConfigSection scale) {
    Config all = scale.subtree();
    Config goals = ConfigFactory.empty();
    for (String key : new String[] {
        "first-token", "per-token", "prefill-share", "startup", "settle", "least", "most",
        "roles"}) {
      goals = all.hasPath(key) ? goals.withValue(key, all.getValue(key)) : goals;
    }
    return goals;
  }

  private static ScaleGoals goals(ConfigSection section) {
    int least = section.count("least", 0, MOST_WORKERS);
    int most = section.count("most", 1, MOST_WORKERS);
    if (most < least) {
      section.fault("most", most + " is below least, " + least);
    }
    return new ScaleGoals(
        section.duration("first-token"),
        section.duration("per-token"),
        section.number("prefill-share", 0.05, 1),
        section.duration("startup"),
        section.duration("settle"),
        least,
        Math.max(least, most));
  }

  private static @Nullable KedaSettings keda(ConfigSection keda) {
    boolean enabled = keda.flag("enabled");
    TlsFiles tls = TlsFilesReader.listener(keda.section("tls"));
    KedaSettings settings = new KedaSettings(keda.name("host"), keda.count("port", 0, 65_535), tls);
    keda.rejectUnread();
    return enabled ? settings : null;
  }
}
