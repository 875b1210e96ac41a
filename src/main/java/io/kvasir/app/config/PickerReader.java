package io.kvasir.app.config;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.http.TlsFiles;
import io.kvasir.picker.PickerSettings;
import io.kvasir.pools.ModelRewrite;
import io.kvasir.pools.Objective;
import io.kvasir.pools.Pool;
import io.kvasir.pools.PoolSet;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Reads {@code kvasir.picker}; faults are reported whether the picker is on or off. */
final class PickerReader {
  private static final String NAMESPACE = "default";
  private static final int LONGEST_BODY = 1 << 30;
  private static final Config POOL_DEFAULTS =
      ConfigFactory.parseString(
          "workers {}, ports = [], authorities = [], models = [], port = 0, rewrites = [], objectives {}");
  private static final Config TARGET_DEFAULTS = ConfigFactory.parseString("weight = 1");
  private static final Config RULE_DEFAULTS = ConfigFactory.parseString("models = []");

  private final ConfigSection picker;
  private final Set<String> ids = new HashSet<>();
  private final Set<Integer> listening = new HashSet<>();

  private PickerReader(ConfigSection picker) {
    this.picker = picker;
  }

  /**
   * The settings of the picker, null when it is off.
   *
   * @param heap of this JVM, in bytes
   */
  static @Nullable PickerSettings read(ConfigSection picker, long heap) {
    return new PickerReader(picker).read(heap);
  }

  private @Nullable PickerSettings read(long heap) {
    boolean enabled = picker.flag("enabled");
    PickerSettings.Listener listener = listener();
    long body = picker.bytes("max-body");
    if (body > LONGEST_BODY) {
      picker.fault("max-body", "has to be at most 1 GiB: a body is read into memory whole");
    }
    PickerSettings.Limits limits =
        PickerSettings.Limits.of(
            (int) Math.min(body, LONGEST_BODY), (long) (picker.number("memory-share", 0.01, 0.9) * heap));
    PickerSettings settings =
        new PickerSettings(
            listener,
            limits,
            picker.flag("keys"),
            picker.count("fallbacks", 0, 15),
            picker.flag("early-close"),
            picker.duration("unseen-booking"),
            picker.flag("conformance"),
            pools());
    picker.rejectUnread();
    return enabled ? settings : null;
  }

  private PickerSettings.Listener listener() {
    ConfigSection tls = picker.section("tls");
    boolean secure = tls.flag("enabled");
    TlsFiles files = TlsFilesReader.listener(tls);
    PickerSettings.Listener listener =
        new PickerSettings.Listener(
            picker.name("host"), picker.count("port", 0, 65_535), picker.count("health-port", 0, 65_535), secure,
            files);
    listening.add(listener.port());
    if (listener.healthPort() != 0 && !listening.add(listener.healthPort())) {
      picker.fault("health-port", "is the same as port, where health is served, too; choose another");
    }
    listening.add(listener.healthPort());
    return listener;
  }

  private PoolSet pools() {
    List<Pool> pools = new ArrayList<>();
    List<ModelRewrite> rewrites = new ArrayList<>();
    List<Objective> objectives = new ArrayList<>();
    for (ConfigSection section : picker.sections("pools", POOL_DEFAULTS)) {
      Pool pool = pool(section);
      pools.add(pool);
      List<ModelRewrite.Rule> rules = rules(section);
      if (!rules.isEmpty()) {
        rewrites.add(new ModelRewrite(pool.name(), pool.id(), rules));
      }
      ConfigSection priorities = section.section("objectives");
      for (String name : priorities.keys()) {
        objectives.add(new Objective(pool.id(), name, priorities.count(name, -1_000_000, 1_000_000)));
      }
      section.rejectUnread();
    }
    return new PoolSet(pools, rewrites, objectives);
  }

  private Pool pool(ConfigSection section) {
    String id = section.name("name");
    int slash = id.indexOf('/');
    Pool pool =
        new Pool(
            slash < 0 ? NAMESPACE : id.substring(0, slash),
            id.substring(slash + 1),
            section.labels("workers"),
            ports(section),
            Set.copyOf(section.texts("authorities")),
            Set.copyOf(section.texts("models")),
            section.count("port", 0, 65_535));
    if (pool.name().contains("/") || pool.name().isEmpty() || pool.namespace().isEmpty()) {
      section.fault("name", "has to be NAME or NAMESPACE/NAME, not '" + id + "'");
    } else if (!ids.add(pool.id())) {
      section.fault("name", "'" + pool.id() + "' is described twice");
    }
    if (pool.port() != 0 && !listening.add(pool.port())) {
      section.fault("port", pool.port() + " is taken by the picker or by another pool; choose another");
    }
    return pool;
  }

  private static List<Integer> ports(ConfigSection section) {
    List<Integer> ports = new ArrayList<>();
    for (String port : section.texts("ports")) {
      if (port.matches("[1-9]\\d{0,4}") && Integer.parseInt(port) <= 65_535) {
        ports.add(Integer.valueOf(port));
      } else {
        section.fault("ports", "has '" + port + "', which is no port from 1 to 65535");
      }
    }
    return ports;
  }

  private static List<ModelRewrite.Rule> rules(ConfigSection section) {
    List<ModelRewrite.Rule> rules = new ArrayList<>();
    for (ConfigSection rule : section.sections("rewrites", RULE_DEFAULTS)) {
      List<ModelRewrite.Target> targets = new ArrayList<>();
      for (ConfigSection target : rule.sections("targets", TARGET_DEFAULTS)) {
        targets.add(new ModelRewrite.Target(target.name("model"), target.count("weight", 1, 1_000_000)));
        target.rejectUnread();
      }
      Set<String> models = Set.copyOf(rule.texts("models"));
      if (targets.isEmpty()) {
        rule.fault("targets", "is empty; name at least one: [{ model = \"NAME\" }]");
      } else {
        rules.add(new ModelRewrite.Rule(models, targets));
      }
      rule.rejectUnread();
    }
    return rules;
  }
}
