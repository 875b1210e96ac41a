package io.kvasir.sim;

import io.kvasir.sim.api.EncoderStats;
import io.kvasir.sim.api.FaultInjector;
import io.kvasir.sim.core.EngineCore;
import io.kvasir.sim.core.EngineStats;
import io.kvasir.sim.operations.ControlApi;
import io.kvasir.sim.operations.EngineControls;
import io.kvasir.sim.operations.IdentityPages;
import io.kvasir.sim.settings.EngineCondition;
import io.kvasir.sim.settings.InjectedFault;
import io.kvasir.sim.settings.SimSettings;
import io.kvasir.sim.text.ModelText;
import io.kvasir.sim.transfer.TransferStats;
import java.io.IOException;
import java.net.URI;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A running simulated engine. It answers on a real HTTP port and publishes its KV cache's events on real ZMQ ports,
 * both as vLLM does, and takes the time that its coefficients give. Several may run in one process; they share nothing.
 * {@link #close()} is as sudden as a crash, and the ports are free afterwards; {@link #restart()} starts it again on
 * the same ports with an empty cache, events that count from 0 and another engine id. Thread-safe.
 */
public final class SimEngine implements EngineControls, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(SimEngine.class);

  private final SimSettings settings;
  private final ModelText text;
  private final FaultInjector faults;
  private final Set<EngineCondition> conditions = EnumSet.noneOf(EngineCondition.class);
  private final ControlApi controls = new ControlApi(this);
  private SimSettings restartSettings;
  private volatile EngineProcess process;
  private boolean started = true;

  private SimEngine(SimSettings settings) throws IOException {
    this.settings = settings;
    text = ModelText.of(settings.model().directory(), IdentityPages.engine(settings));
    faults = new FaultInjector(settings.seed(), settings.failures().faults());
    process = new EngineProcess(settings, text, faults, controls);
    restartSettings = process.restartSettings();
    for (EngineCondition condition : settings.failures().conditions()) {
      setCondition(condition, true);
    }
  }

  /**
   * Starts an engine; it is ready when this returns.
   *
   * @throws IllegalArgumentException when {@link SimSettings#validate()} finds faults; names them all
   * @throws IOException when a port is taken or the model's files cannot be read
   */
  public static SimEngine start(SimSettings settings) throws IOException {
    List<String> wrong = settings.validate();
    if (!wrong.isEmpty()) {
      throw new IllegalArgumentException(String.join("\n", wrong));
    }
    SimEngine engine = new SimEngine(settings);
    LOG.info("Simulated engine {} serves {} at {}, events at {}", settings.engine().coefficients(),
        settings.model().name(), engine.url(),
        engine.eventsEndpoint());
    return engine;
  }

  /** Where it answers, such as {@code http://127.0.0.1:8000}. */
  public URI url() {
    return URI.create("http://" + EngineProcess.reachable(settings.http().host()) + ":" + process.port());
  }

  /** Rank 0's event endpoint, such as {@code tcp://127.0.0.1:5557}; null without events or when its sockets connect. */
  public @Nullable String eventsEndpoint() {
    return eventsEndpoint(0);
  }

  /** A rank's event endpoint; null without events or when its socket connects. */
  public @Nullable String eventsEndpoint(int rank) {
    return endpoint(process.eventsPort(rank));
  }

  /** Rank 0's replay endpoint; null without replay. */
  public @Nullable String replayEndpoint() {
    return replayEndpoint(0);
  }

  /** A rank's replay endpoint; null without replay. */
  public @Nullable String replayEndpoint(int rank) {
    return endpoint(process.replayPort(rank));
  }

  /** Port of vLLM's gRPC; 0 without it. */
  public int grpcPort() {
    return process.grpcPort();
  }

  /** The settings it was started with. */
  public SimSettings settings() {
    return settings;
  }

  /** What it is doing, all ranks together. */
  @Override
  public EngineStats stats() {
    int running = 0;
    int waiting = 0;
    long queried = 0;
    long hit = 0;
    long hostHit = 0;
    for (EngineCore rank : process.ranks()) {
      running += rank.running();
      waiting += rank.waiting();
      queried += rank.queriedTokens();
      hit += rank.hitTokens();
      hostHit += rank.hostHitTokens();
    }
    return new EngineStats(running, waiting, queried, hit, hostHit);
  }

  /** Its transfers with other engines since it started last. */
  @Override
  public TransferStats transferStats() {
    return process.transfer().stats();
  }

  /** Images and sounds in its requests since it started last. */
  public EncoderStats encoderStats() {
    return process.encoders().stats();
  }

  /** Port of its side channel or bootstrap server; 0 without one. */
  public int transferPort() {
    return process.transfer().port();
  }

  /** The id by which other engines know a rank. */
  public String engineId(int rank) {
    return process.transfer().engineId(rank);
  }

  /** Replaces the faults that requests meet from now on. */
  @Override
  public void setFaults(List<InjectedFault> next) {
    faults.set(next);
  }

  /**
   * Begins or ends a condition.
   *
   * @throws IOException when it is to listen again and its port is taken
   */
  @Override
  public synchronized void setCondition(EngineCondition condition, boolean on) throws IOException {
    if (started) {
      process.setCondition(condition, on);
      if (on) {
        conditions.add(condition);
      } else {
        conditions.remove(condition);
      }
    }
  }

  /** What is wrong with it now. */
  @Override
  public synchronized Set<EngineCondition> conditions() {
    return Collections.unmodifiableSet(EnumSet.copyOf(conditions));
  }

  /** Stops as suddenly as a process that is killed: every connection breaks, the cache is lost. Idempotent. */
  @Override
  public synchronized void crash() {
    if (started) {
      started = false;
      conditions.clear();
      process.close();
    }
  }

  /**
   * Stops if it runs, and starts again on the same ports, with no condition and an empty cache.
   *
   * @throws IOException when a port has been taken meanwhile
   */
  @Override
  public synchronized void restart() throws IOException {
    crash();
    process = new EngineProcess(restartSettings, text, faults, controls);
    restartSettings = process.restartSettings();
    started = true;
  }

  @Override
  public void close() {
    crash();
    controls.close();
  }

  private @Nullable String endpoint(int port) {
    return port == 0 ? null : "tcp://" + EngineProcess.reachable(settings.kv().events().host()) + ":" + port;
  }

}
