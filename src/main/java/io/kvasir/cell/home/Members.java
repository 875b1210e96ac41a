package io.kvasir.cell.home;

import io.kvasir.cell.CellSettings;
import io.kvasir.cell.HitOutcome;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.Reservation;
import io.kvasir.cell.directory.PodEntry;
import io.kvasir.cell.events.ChunkHints;
import io.kvasir.cell.events.EventCheckpoint;
import io.kvasir.cell.ledger.AdoptedReservation;
import io.kvasir.cell.ledger.InFlightLoad;
import io.kvasir.cell.standby.CellReplica;
import io.kvasir.cell.standby.ReplicatedWorker;
import io.kvasir.cell.view.CellView;
import io.kvasir.cell.worker.ErrorAnswers;
import io.kvasir.cell.worker.Member;
import io.kvasir.cell.worker.Reachability;
import io.kvasir.cell.worker.ServedRequest;
import io.kvasir.cell.worker.WorkerHealth;
import io.kvasir.index.BlockIndex;
import io.kvasir.index.WorkerBlocks;
import io.kvasir.routing.Booking;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.PrefillSample;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A cell's workers in their slots, and the index they share. Changed by the cell's actor alone; the
 * {@link CellView} reads it from any thread. A slot is free again only after the sweep of the worker
 * that had it. When there are more workers than slots the index is rebuilt into a {@link IndexResize wider} one.
 */
final class Members {
  private final CellServices services;
  private final boolean[] slotTaken = new boolean[CellSettings.MAX_SLOTS];
  private final CellView view;
  private BlockIndex index;
  private @Nullable IndexResize resize;
  private final Map<String, ReplicatedWorker> inherited = new HashMap<>();
  private final Map<Member, EventCheckpoint> checkpoints = new HashMap<>();
  private final Set<String> reachable;
  private final ErrorAnswers errorAnswers;
  private final Member.RequestListener listener = new RequestEndListener();
  private @Nullable List<Member> listed;
  private volatile Runnable onConnectionLost = () -> {};

  /** Without members yet. */
  Members(String cell, CellServices services) {
    this(
        cell,
        services,
        new CellReplica.WarmState(
            new BlockIndex(services.settings().index().slots(), services.settings().index().budgetBytes()),
            Map.of(),
            Set.of()));
  }

  /** Without members yet; those that are admitted begin with what a replica has of them. */
  Members(String cell, CellServices services, CellReplica.WarmState copy) {
    this.services = services;
    this.index = copy.index();
    this.view =
        new CellView(
            cell,
            index,
            services.profiles(),
            services.metrics(),
            services.decisions(),
            services.clock(),
            services.settings().remote().reservationLease(),
            services.settings().programs(),
            services.releases(),
            services.settings().admission(),
            () -> services.replication().nextHomes().apply(cell),
            services.holders(),
            services.views().learntEngines());
    this.errorAnswers = new ErrorAnswers(services.clock(), view::canSpare);
    this.reachable = copy.reachable();
    inherited.putAll(copy.workers());
    inherited.values().forEach(worker -> slotTaken[worker.slot()] = true);
  }

  CellView view() {
    return view;
  }

  /** Has {@code action} run whenever a request finds that a pod cannot be reached, on the thread of that request. */
  void onConnectionLost(Runnable action) {
    onConnectionLost = action;
  }

  /** The members there are now: the same list until they change. */
  List<Member> all() {
    List<Member> known = listed;
    if (known == null) {
      known = Stream.of(view.members()).filter(Objects::nonNull).toList();
      listed = known;
    }
    return known;
  }

  private void put(int slot, @Nullable Member member) {
    view.setMember(slot, member);
    listed = null;
  }

  private void remove(Member member) {
    put(member.worker().slot(), null);
    services.profiles().costs().forget(member.worker().instance());
  }

  /** Has a member go on by another description of its pod, whose engine is the same. */
  void describe(Member member, PodSpec now) {
    member.describe(now);
    put(member.worker().slot(), member);
  }

  /** The worker of an id. */
  Optional<Member> named(String worker) {
    return all().stream().filter(member -> member.worker().id().equals(worker)).findFirst();
  }

  /** Gives slots to those ranks of a pod that have none yet, as far as there are free ones. */
  List<Member> admit(PodEntry pod) {
    List<Member> admitted = new ArrayList<>();
    for (int rank = 0; rank < pod.spec().engine().ranks(); rank++) {
      String id = pod.spec().workerId(rank);
      ReplicatedWorker copied = inherited.get(id);
      int slot = copied == null ? freeSlot() : copied.slot();
      if (slot < 0 || all().stream().anyMatch(member -> member.worker().id().equals(id))) {
        continue;
      }
      slotTaken[slot] = true;
      WorkerBlocks blocks = copied == null ? index.open(slot, pod.spec().engine().capacityBlocks()) : copied.blocks();
      Member member =
          new Member(
              pod.spec().worker(rank, slot),
              pod.spec(),
              new WorkerHealth(
                  services.settings().health(), reachability(pod), services.clock(), view.changes()),
              blocks,
              services.settings(),
              services.views().learntEngines(),
              services.clock(),
              view.changes(),
              listener);
      if (copied != null) {
        inherited.remove(id);
        checkpoints.put(member, copied.checkpoint());
      }
      member.drain(pod.draining());
      put(slot, member);
      admitted.add(member);
    }
    return admitted;
  }

  /** Ranks of a pod share its server, and so whether it can be reached. */
  private Reachability reachability(PodEntry pod) {
    return all().stream()
        .filter(member -> member.pod().name().equals(pod.spec().name()))
        .findFirst()
        .map(member -> member.health().reachability())
        .orElseGet(() -> initialReachability(pod));
  }

  /** Reachable for a pod that the earlier home could reach, unknown for any other. */
  private Reachability initialReachability(PodEntry pod) {
    Reachability contact = new Reachability(services.settings().health().streamDoubt(), view.changes());
    if (reachable.contains(pod.spec().name())) {
      contact.onSuccess();
    }
    return contact;
  }

  /** The state a member that has just been admitted resumes from, null when it begins with nothing. Taken once. */
  @Nullable EventCheckpoint takeCheckpoint(Member member) {
    return checkpoints.remove(member);
  }

  /** Retires the replicated workers that have not become members. */
  List<Retired> retireUnclaimed() {
    List<Retired> retired = new ArrayList<>();
    for (ReplicatedWorker worker : inherited.values()) {
      index.retire(worker.slot());
      retired.add(new Retired(worker.slot(), index, index));
    }
    inherited.clear();
    return retired;
  }

  /** Books what another node has in flight on a worker; null while that is no member. */
  @Nullable Reservation adopt(InFlightLoad load) {
    for (Member member : view.members()) {
      if (member != null && member.worker().id().equals(load.worker())) {
        Booking localPrefill = booking(member, load.promptTokens(), load.uncachedTokens());
        Booking now = load.localPrefill() ? localPrefill : booking(member, load.promptTokens(), 1);
        Reservation adopted = AdoptedReservation.book(member, load.model(), now, localPrefill);
        if (load.firstToken()) {
          adopted.firstToken();
        }
        return adopted;
      }
    }
    return null;
  }

  private Booking booking(Member member, int promptTokens, int uncachedTokens) {
    int prompt = Math.max(1, promptTokens);
    int uncached = Math.clamp(uncachedTokens, 1, prompt);
    double millis = services.profiles().costs().of(member.worker().instance()).prefillMs(uncached, prompt);
    return new Booking(prompt, uncached, Math.max(1, Math.round(millis * 1e3)));
  }

  /** A slot whose worker has left, in the index where it is and in the wide one, which may be the same. */
  record Retired(int slot, BlockIndex index, BlockIndex resizedIndex) {}

  /** Takes a worker out of every decision and search at once; its slot stays taken until the sweep. */
  Retired retire(Member member) {
    int slot = member.worker().slot();
    BlockIndex narrow = index;
    BlockIndex wide = resize == null ? narrow : resize.index();
    remove(member);
    narrow.retire(slot);
    if (resize != null) {
      resize.memberRemoved(member);
    }
    return new Retired(slot, narrow, wide);
  }

  /**
   * Clears what retired workers held, all in one pass: wide indexes first, so that a worker that is still to be handed
   * over does not find in one what has been removed from the other. Takes time; called off the actor.
   */
  static void sweep(List<Retired> workers) {
    sweep(workers, Retired::resizedIndex);
    sweep(workers, Retired::index);
  }

  private static void sweep(List<Retired> workers, Function<Retired, BlockIndex> where) {
    workers.stream()
        .collect(Collectors.groupingBy(where))
        .forEach((in, these) -> in.sweep(these.stream().mapToInt(Retired::slot).toArray()));
  }

  /** Whether so many workers need a wider index, and there can be one. */
  boolean needsResize(int workers) {
    return workers > index.slots() && index.slots() < CellSettings.MAX_SLOTS;
  }

  /** Begins to rebuild the index into one that has room for so many workers, as far as there can be. */
  IndexResize beginResize(int workers) {
    int slots = index.slots();
    while (slots < Math.min(workers, CellSettings.MAX_SLOTS)) {
      slots *= 2;
    }
    IndexResize begun =
        new IndexResize(
            new BlockIndex(slots, services.settings().index().budgetBytes()), services.clock().nanos());
    all().forEach(begun::open);
    resize = begun;
    return begun;
  }

  /** Has every decision from now on, and every event, meet the wide index; the narrow one is dropped. */
  void finishResize(IndexResize done) {
    done.successors().forEach((member, blocks) -> member.cache().moveTo(blocks));
    index = done.index();
    view.moveTo(index);
    resize = null;
  }

  /** Drops the wide index. */
  void cancelResize() {
    resize = null;
  }

  void free(int slot) {
    slotTaken[slot] = false;
  }

  /** Ends the cell on this node: nothing more is decided here. */
  void close() {
    all().forEach(this::remove);
  }

  private final class RequestEndListener implements Member.RequestListener {
    @Override
    public void requestEnded(ServedRequest request, Member member, Outcome outcome) {
      errorAnswers.requestEnded(request, member, outcome);
      view.roomChanged();
      services.metrics().workers().requestEnded(member, outcome);
      services.profiles().requestEnded(request.model(), outcome);
      if (outcome instanceof Outcome.Failed failed && failed.transport()) {
        onConnectionLost.run();
      }
    }

    @Override
    public void promptRead() {
      view.roomChanged();
    }

    @Override
    public void prefillCompleted(Member member, PrefillSample prefill) {
      CostModel costs = services.profiles().costs();
      costs.observe(member.worker().instance(), prefill);
      if (!member.equals(view.members()[member.worker().slot()])) {
        // It has left while the request was there: nobody would forget it again.
        costs.forget(member.worker().instance());
      }
    }

    @Override
    public void pulled(Member member, int expected, int found) {
      services.metrics().workers().pulled(member, expected, found);
    }

    @Override
    public void hintsReported(Member member, ChunkHints.Findings findings) {
      services.metrics().workers().hintsReported(member, findings);
    }

    @Override
    public void cacheHitsReported(Member member, int expected, int found, HitOutcome outcome) {
      services.metrics().workers().cacheHitsReported(member, expected, found, outcome);
    }
  }

  private int freeSlot() {
    for (int slot = 0; slot < index.slots(); slot++) {
      if (!slotTaken[slot]) {
        return slot;
      }
    }
    return -1;
  }
}
