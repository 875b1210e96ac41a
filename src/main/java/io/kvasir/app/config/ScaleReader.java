package io.kvasir.app.config;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.app.config.KvasirConfig.ScalingConfig;
import io.kvasir.http.TlsFiles;
import io.kvasir.scale.ScaleGoals;
import io.kvasir.scale.keda.KedaSettings;
import io.kvasir.scale.live.ScaleSettings;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Reads {@code kvasir.scale}; faults are reported whether its parts are on or off. */
final class ScaleReader {
  private static final int MOST_WORKERS = 10_000;

  private ScaleReader() {}

  static ScalingConfig read(ConfigSection scale) {
    ScaleGoals standard = goals(scale);
    Map<String, ScaleGoals> byModel = new HashMap<>();
    for (ConfigSection model : scale.sections("models", written(scale))) {
      String name = model.name("name");
      if (byModel.put(name, goals(model)) != null) {
        model.fault("name", "'" + name + "' is described twice");
      }
      model.rejectUnread();
    }
    ScaleSettings advice =
        new ScaleSettings(scale.flag("enabled"), scale.duration("interval"), standard, Map.copyOf(byModel));
    KedaSettings keda = keda(scale.section("keda"));
    if (keda != null && !advice.enabled()) {
      scale.fault("keda.enabled", "needs kvasir.scale.enabled: without advice there is nothing to answer");
    }
    scale.rejectUnread();
    return new ScalingConfig(advice, keda);
  }

  /** The goals of all models, over which a model's own are laid. */
  private static Config written(ConfigSection scale) {
    Config all = scale.subtree();
    Config goals = ConfigFactory.empty();
    for (String key : new String[] {
        "first-token", "per-token", "prefill-share", "startup", "settle", "least", "most"}) {
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
