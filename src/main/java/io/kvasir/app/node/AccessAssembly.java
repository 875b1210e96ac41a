package io.kvasir.app.node;

import io.kvasir.access.AccessControl;
import io.kvasir.access.Authenticator;
import io.kvasir.access.store.KeyStore;
import io.kvasir.access.token.JwtVerifier;
import io.kvasir.app.config.AccessConfig;
import io.kvasir.app.config.ConfigException;
import io.kvasir.gateway.admin.KeysAdmin;
import io.kvasir.gateway.admin.KeysAdmin.KeySource;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.Problem;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import java.io.IOException;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import org.apache.pekko.actor.typed.ActorSystem;
import org.jspecify.annotations.Nullable;

/**
 * What requests are authenticated with: the keys of the configuration, of a file that is watched, and of the
 * administrators' changes that all nodes share; and the tokens of an identity provider. Requests are accepted when
 * those changes are known, which is at once on a node that forms a cluster of its own. Thread-safe; closed when no
 * request comes any more.
 */
final class AccessAssembly implements AutoCloseable {
  private static final Problem FORGETFUL =
      Problem.warning(
          "keys that administrators have changed are in this node's memory only: a restart of all nodes forgets them",
          "set kvasir.access.store");

  private static final Problem CUT_OFF =
      Problem.warning(
          "this node is cut off from the others: keys that are changed on it reach them when it has rejoined, if"
              + " kvasir.access.store is set",
          "mend the network between the nodes, or change keys on a node that is not cut off");

  private final AccessConfig config;
  private final BooleanSupplier cutOff;
  private final @Nullable JwtVerifier tokens;
  private final AccessControl control;
  private final KeyCatalog catalog;
  private final KeyStore store;
  private final KeysAdmin administration;
  private final @Nullable KeyFileWatch watch;
  private final AtomicBoolean synchronised = new AtomicBoolean();

  /**
   * Starts to learn keys.
   *
   * @param alone whether the node forms a cluster of its own
   * @param cutOff whether the node was removed from its cluster, which goes on without it
   * @throws StartException when a file cannot be read
   */
  AccessAssembly(
      AccessConfig config, ActorSystem<?> system, boolean alone, BooleanSupplier cutOff, Metrics metrics)
      throws StartException {
    this.config = config;
    this.cutOff = cutOff;
    this.tokens =
        config.tokens() == null ? null : new JwtVerifier(config.tokens(), InstantSource.system(), metrics);
    this.control = new AccessControl(tokens, InstantSource.system(), metrics);
    this.catalog = new KeyCatalog(config, control);
    Path file = config.keys().file();
    try {
      this.watch =
          file == null
              ? null
              : new KeyFileWatch(
                  file, config.reader(), config.keys().reloadInterval(), catalog::replaceFileKeys, metrics);
    } catch (ConfigException faulty) {
      closeTokens();
      throw new StartException("the file of keys cannot be used: " + faulty.getMessage(), faulty);
    }
    try {
      this.store =
          KeyStore.start(
              system,
              config.keys().store(),
              alone,
              changes -> {
                catalog.replaceChanges(changes);
                synchronised.set(true);
              });
    } catch (IOException unreadable) {
      close();
      throw new StartException(
          "the store of keys (kvasir.access.store) cannot be used: " + unreadable.getMessage(), unreadable);
    }
    this.administration =
        new KeysAdministration(catalog, store, config.reader(), this::shortcomings, InstantSource.system());
    GaugeWithCallback.builder()
        .name("kvasir_keys")
        .help("Keys that this node knows, by where they are from: configuration, file, admin")
        .labelNames("source")
        .callback(gauge -> {
          for (KeySource source : KeySource.values()) {
            long keys = catalog.keys().values().stream().filter(key -> key.source() == source).count();
            gauge.call((double) keys, source.name().toLowerCase(Locale.ROOT));
          }
        })
        .register(metrics.registry());
  }

  Authenticator authenticator() {
    return control;
  }

  KeysAdmin administration() {
    return administration;
  }

  /** Makes the state of keys visible at {@code /ready}. */
  void register(Readiness readiness) {
    readiness.obstacle(
        () -> synchronised.get()
            ? Optional.empty()
            : Optional.of(Problem.error(
                "the keys that the other nodes know are not known here yet",
                "wait a moment; if it stays, see that the other nodes can be reached: GET /admin/cluster")));
    readiness.degradation(() -> {
      List<Problem> problems = new ArrayList<>(catalog.problems());
      if (watch != null) {
        watch.problem().ifPresent(problems::add);
      }
      if (tokens != null) {
        tokens.problem().ifPresent(problems::add);
      }
      if (catalog.isChanged()) {
        problems.addAll(shortcomings());
      }
      return problems;
    });
  }

  @Override
  public void close() {
    if (watch != null) {
      watch.close();
    }
    closeTokens();
  }

  private void closeTokens() {
    if (tokens != null) {
      tokens.close();
    }
  }

  /** Why a change of keys may not last, or not reach every node. */
  private List<Problem> shortcomings() {
    List<Problem> all = new ArrayList<>();
    if (config.keys().store() == null) {
      all.add(FORGETFUL);
    }
    store.fileFault().ifPresent(fault -> all.add(Problem.warning(
        "the store of keys: " + fault, "see that kvasir.access.store can be read and written by the node")));
    if (cutOff.getAsBoolean()) {
      all.add(CUT_OFF);
    }
    return all;
  }
}
