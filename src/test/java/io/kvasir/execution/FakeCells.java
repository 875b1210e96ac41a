package io.kvasir.execution;

import io.kvasir.cell.CachedTokens;
import io.kvasir.cell.Cells;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.LearntEngines.LearntEngine;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.Reservation;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.cell.WorkerSummary;
import io.kvasir.http.Cancellation;
import io.kvasir.routing.FailurePolicy;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingPlan;
import io.kvasir.routing.Worker;
import io.kvasir.telemetry.DecisionRecord;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Cells that choose the first worker in order, and remember everything. */
public final class FakeCells implements Cells {
  public final FakePods pods = new FakePods(this);
  public final FakeFleet fleet = new FakeFleet(this);
  public final List<Worker> workers = new CopyOnWriteArrayList<>();
  private final AtomicInteger looks = new AtomicInteger();
  private final Set<String> ill = ConcurrentHashMap.newKeySet();
  private final Set<String> wedged = ConcurrentHashMap.newKeySet();
  /** What is known of pods' engines. */
  public final Map<String, LearntEngine> engines = new ConcurrentHashMap<>();
  private final Map<String, Integer> losses = new ConcurrentHashMap<>();
  public final BlockingQueue<DecisionRequest> requests = new LinkedBlockingQueue<>();
  /** Ids of the requests that asked for a worker. */
  public final Set<String> asked = ConcurrentHashMap.newKeySet();
  public final BlockingQueue<Outcome> outcomes = new LinkedBlockingQueue<>();
  public final AtomicInteger open = new AtomicInteger();
  /** How often the workers of a model were listed. */
  public final AtomicInteger listed = new AtomicInteger();
  private Set<String> ids = Set.of();
  public final AtomicInteger closedTwice = new AtomicInteger();
  public final AtomicInteger firstTokens = new AtomicInteger();
  /** What takes requests back from their workers, in the order in which they went there. */
  public final BlockingQueue<Runnable> holders = new LinkedBlockingQueue<>();
  /** What is said when nobody is left. */
  public volatile Decision.NoWorkerReason otherwise = Decision.NoWorkerReason.NONE_HEALTHY;
  /** Whether nobody is chosen, whoever is there. */
  public volatile boolean refuse;

  /** Of which a request takes one for its turn; null while all go at once. */
  public volatile @Nullable Semaphore turns;
  /** Requests that wait for their turn. */
  public final AtomicInteger waiting = new AtomicInteger();

  /** What happens when a load is given back. */
  public volatile Runnable closing = () -> {};
  /** What happens while a request waits for its decision. */
  public volatile Runnable deciding = () -> {};
  /** What is predicted for every request. */
  public volatile int predicted;

  /** What any worker holds of every request. */
  public volatile int best;

  /** What was seen before of every request. */
  public volatile int ever;

  /** What each step's failure leads to: the next candidate if nothing else is said. */
  public final Map<String, FailurePolicy> policies = new ConcurrentHashMap<>();
  /** The next best workers of every step. */
  public volatile List<Worker> alternatives = List.of();
  /** How long the next worker that does a step may take; those after it have all the time. */
  public final Map<String, Duration> deadlines = new ConcurrentHashMap<>();
  /** The name of the step that encode workers do. */
  public volatile String preparation = RoutingPlan.ENCODE;
  /** How many workers were told to read a prompt that another was to read. */
  public final AtomicInteger readPrompts = new AtomicInteger();

  /** A worker of a split fleet; its pod is its own bootstrap server, too. */
  public Worker splitter(String id, URI url, Role role, KvTransfer.Dialect dialect, String... models) {
    return splitter(id, url, role, dialect, url.getPort(), models);
  }

  public Worker splitter(
      String id, URI url, Role role, KvTransfer.Dialect dialect, int bootstrapPort, String... models) {
    KvTransfer transfer =
        new KvTransfer(dialect, "", "127.0.0.1", bootstrapPort, "engine-" + id, 1, 1,
            new KvTransfer.TransferCost(1, 1));
    Worker worker = new Worker(
        id, id, url, 0, 1, workers.size(), role, new TreeSet<>(List.of(models)), Map.of(), 100, "e", transfer);
    workers.add(worker);
    return worker;
  }

  public Worker worker(String id, URI url, String... models) {
    return worker(id, id, url, 0, 1, models);
  }

  public Worker worker(String pod, String id, URI url, int rank, int ranks, String... models) {
    Worker worker = new Worker(
        id, pod, url, rank, ranks, workers.size(), Role.BOTH, new TreeSet<>(List.of(models)), Map.of(), 100, "e", null);
    workers.add(worker);
    return worker;
  }

  /** The next outcome, waited for. */
  public Outcome outcome() throws InterruptedException {
    Outcome outcome = outcomes.poll(60, TimeUnit.SECONDS);
    if (outcome == null) {
      throw new AssertionError("no reservation was closed");
    }
    return outcome;
  }

  @Override
  public Decision decideInTurn(DecisionRequest request, Cancellation client) {
    Semaphore now = turns;
    waiting.incrementAndGet();
    try {
      while (now != null && !now.tryAcquire(10, TimeUnit.MILLISECONDS)) {
        if (client.isCancelled()) {
          return new Decision.NoWorker(Decision.NoWorkerReason.STOPPING, "cancelled");
        }
      }
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    } finally {
      waiting.decrementAndGet();
    }
    return decide(request);
  }

  @Override
  public DecisionRecord explain(DecisionRequest request) {
    requests.add(request);
    boolean known = workers.stream().anyMatch(worker -> worker.models().contains(request.model()));
    return new DecisionRecord(
        "", request.requestId(), request.traceId(), request.model(), String.valueOf(request.profile()), "cell",
        request.prompt().tokens(),
        request.prompt().chain().length(), request.prompt().chain().blockSize(),
        request.prompt().tokensFrom(), List.of(), Map.of(), 0, List.of(),
        known ? null : "unknown_model", "first in order", List.of(), List.of(), null);
  }

  @Override
  public Decision decide(DecisionRequest request) {
    requests.add(request);
    asked.add(request.requestId());
    deciding.run();
    DecisionRequest.StepReplacement again = request.constraints().replacement();
    if (again != null) {
      boolean prefill = again.step().equals(RoutingPlan.PREFILL);
      Worker worker = first(request, prefill ? Role.PREFILL : Role.DECODE);
      return worker == null ? nobody(request) : planned(RoutingPlan.StepOrder.SEQUENTIAL, step(again.step(), worker));
    }
    Worker prefill = first(request, Role.PREFILL);
    Worker decode = first(request, Role.DECODE);
    if (prefill != null && decode != null && request.shape().divisible()) {
      List<Decision.Chosen> steps = new ArrayList<>();
      Worker before = first(request, Role.ENCODE);
      if (before != null) {
        steps.add(step(preparation, before));
      }
      steps.add(step(RoutingPlan.PREFILL, prefill));
      steps.add(step(RoutingPlan.DECODE, decode));
      return planned(RoutingPlan.StepOrder.CONCURRENT, steps.toArray(Decision.Chosen[]::new));
    }
    Worker both = first(request, Role.BOTH);
    boolean alone = decode != null && decode.canPrefill() && request.constraints().excluded().isEmpty();
    Worker whole = both == null && alone ? decode : both;
    return whole == null
        ? nobody(request)
        : planned(RoutingPlan.StepOrder.SEQUENTIAL, step(RoutingPlan.WHOLE, whole));
  }

  private @Nullable Worker first(DecisionRequest request, Role role) {
    return workers.stream()
        .filter(worker -> worker.role() == role && worker.models().contains(request.model()))
        .filter(worker -> !refuse && !request.constraints().excluded().contains(worker.id()))
        .findFirst()
        .orElse(null);
  }

  private Decision nobody(DecisionRequest request) {
    return new Decision.NoWorker(
        models().contains(request.model()) ? otherwise : Decision.NoWorkerReason.UNKNOWN_MODEL,
        "nobody is left for " + request.model());
  }

  private Decision planned(RoutingPlan.StepOrder order, Decision.Chosen... steps) {
    return new Decision.Planned("scripted", order, List.of(steps), "first in order");
  }

  private Decision.Chosen step(String name, Worker worker) {
    RoutingPlan.Step step = new RoutingPlan.Step(
        name, worker.role(), worker, !name.equals(RoutingPlan.DECODE), alternatives,
        policies.getOrDefault(name, FailurePolicy.NEXT_CANDIDATE), deadlines.remove(name));
    return new Decision.Chosen(step, new Booked(), 0, new CachedTokens(predicted, predicted, best, ever), false);
  }

  /** A worker could not be reached for a moment, and is well again. */
  public void lose(String worker) {
    losses.merge(worker, 1, Integer::sum);
  }

  /** A worker does not answer, or does again. */
  public void setIll(String worker, boolean on) {
    if (on) {
      ill.add(worker);
    } else {
      ill.remove(worker);
    }
  }

  /** A worker answers, and nothing comes of its requests. */
  public void wedge(String worker) {
    wedged.add(worker);
  }

  /** How often somebody has looked at all workers. */
  public int looks() {
    return looks.get();
  }

  @Override
  public List<WorkerSummary> workers() {
    looks.incrementAndGet();
    return workers.stream()
        .map(worker -> new WorkerSummary(
            worker.id(), worker.pod(), worker.url(), worker.models(), worker.role(), worker.labels(),
            pods.drained.contains(worker.pod()),
            wedged.contains(worker.id()) ? WorkerStatus.Health.WEDGED
                : ill.contains(worker.id()) ? WorkerStatus.Health.UNHEALTHY
                : WorkerStatus.Health.HEALTHY,
            losses.getOrDefault(worker.id(), 0)))
        .toList();
  }

  @Override
  public List<WorkerSummary> workers(String model) {
    listed.incrementAndGet();
    return workers().stream().filter(worker -> worker.models().contains(model)).toList();
  }

  @Override
  public synchronized Set<String> workerIds() {
    Set<String> now = workers.stream().map(Worker::id).collect(Collectors.toSet());
    ids = now.equals(ids) ? ids : now;
    return ids;
  }

  @Override
  public Set<String> models() {
    Set<String> models = new TreeSet<>();
    workers.forEach(worker -> models.addAll(worker.models()));
    return models;
  }

  private final class Booked implements Reservation {
    private final AtomicBoolean closed = new AtomicBoolean();

    Booked() {
      open.incrementAndGet();
    }

    @Override
    public void onPreempt(Runnable preempt) {
      holders.add(preempt);
    }

    @Override
    public void firstToken() {
      firstTokens.incrementAndGet();
    }

    @Override
    public void prefillLocally() {
      readPrompts.incrementAndGet();
    }

    @Override
    public void progressed() {}

    @Override
    public void close(Outcome outcome) {
      if (!closed.compareAndSet(false, true)) {
        closedTwice.incrementAndGet();
        return;
      }
      open.decrementAndGet();
      outcomes.add(outcome);
      closing.run();
    }
  }

  @Override
  public LearntEngine learntEngine(String pod) {
    return engines.getOrDefault(pod, LearntEngine.UNKNOWN);
  }
}
