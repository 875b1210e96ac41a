package io.kvasir.sim;

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
 * A running simulated engine. It answers on a real HTTP port as vLLM does, tells of its KV cache on real
 * ZMQ ports as vLLM does, and takes the time its coefficients say. Several may run in one process; they
 * share nothing. {@link #close()} is as sudden as a crash, and the ports are free afterwards; {@link #restart()} comes
 * back on the same ports with an empty cache, events that count from 0 and another engine id. Thread-safe.
 */
public final class SimEngine implements AutoCloseable {
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
    text = new ModelText(settings.modelDirectory());
    faults = new FaultInjector(settings.seed(), settings.faults());
    process = new EngineProcess(settings, text, faults, controls);
    restartSettings = process.restartSettings();
    for (EngineCondition condition : settings.conditions()) {
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
    LOG.info("Simulated engine {} serves {} at {}, events at {}", settings.engine(), settings.model(), engine.url(),
        engine.eventsEndpoint());
    return engine;
  }

  /** Where it answers, such as {@code http://127.0.0.1:8000}. */
  public URI url() {
    return URI.create("http://" + reachable(settings.host()) + ":" + process.port());
  }

  /** Rank 0's events, such as {@code tcp://127.0.0.1:5557}; null without events or when its sockets connect. */
  public @Nullable String eventsEndpoint() {
    return eventsEndpoint(0);
  }

  /** A rank's events. */
  public @Nullable String eventsEndpoint(int rank) {
    return endpoint(process.eventsPort(rank));
  }

  /** Where rank 0's last events can be asked for again; null without replay. */
  public @Nullable String replayEndpoint() {
    return replayEndpoint(0);
  }

  /** Where a rank's last events can be asked for again. */
  public @Nullable String replayEndpoint(int rank) {
    return endpoint(process.replayPort(rank));
  }

  /** What it was told to be. */
  public SimSettings settings() {
    return settings;
  }

  /** What it is doing, all ranks together. */
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

  /** What it has had to do with other engines since it started last. */
  public TransferStats transferStats() {
    return process.transfer().stats();
  }

  /** Images and sounds it has met since it started last. */
  public EncoderStats encoderStats() {
    return process.encoders().stats();
  }

  /** Port of its side channel or bootstrap server; 0 without one. */
  public int transferPort() {
    return process.transfer().port();
  }

  /** A rank's id towards other engines. */
  public String engineId(int rank) {
    return process.transfer().engineId(rank);
  }

  /** From the next request on, these things go wrong and no others. */
  public void setFaults(List<InjectedFault> next) {
    faults.set(next);
  }

  /**
   * Begins or ends a condition.
   *
   * @throws IOException when it is to listen again and its port is taken
   */
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
  public synchronized Set<EngineCondition> conditions() {
    return Collections.unmodifiableSet(EnumSet.copyOf(conditions));
  }

  /** Dies, as a process that is killed: every connection breaks, the cache is lost. Idempotent. */
  public synchronized void crash() {
    if (started) {
      started = false;
      conditions.clear();
      process.close();
    }
  }

  /**
   * Dies if it lives, and starts again on the same ports, well and with an empty cache.
   *
   * @throws IOException when a port has been taken meanwhile
   */
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
    return port == 0 ? null : "tcp://" + reachable(settings.events().host()) + ":" + port;
  }

  /** An address for others in place of all interfaces'. */
  static String reachable(String host) {
    return host.equals("*") || host.equals("0.0.0.0") ? "127.0.0.1" : host;
  }
}
