package io.kvasir.sim.lmcache;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What LMCache's workers and controller say to each other: a map whose {@code type} names the message. A worker is an
 * instance's tensor-parallel rank. {@link MessageCodec} writes and reads them.
 */
@JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "type")
@JsonSubTypes({
  @JsonSubTypes.Type(value = Message.Register.class, name = "RegisterMsg"),
  @JsonSubTypes.Type(value = Message.Registered.class, name = "RegisterRetMsg"),
  @JsonSubTypes.Type(value = Message.Deregister.class, name = "DeRegisterMsg"),
  @JsonSubTypes.Type(value = Message.Operations.class, name = "BatchedKVOperationMsg"),
  @JsonSubTypes.Type(value = Message.Heartbeat.class, name = "HeartbeatMsg"),
  @JsonSubTypes.Type(value = Message.Commands.class, name = "HeartbeatRetMsg"),
  @JsonSubTypes.Type(value = Message.SyncStart.class, name = "FullSyncStartMsg"),
  @JsonSubTypes.Type(value = Message.SyncStarted.class, name = "FullSyncStartRetMsg"),
  @JsonSubTypes.Type(value = Message.SyncBatch.class, name = "FullSyncBatchMsg"),
  @JsonSubTypes.Type(value = Message.SyncEnd.class, name = "FullSyncEndMsg"),
  @JsonSubTypes.Type(value = Message.SyncQuery.class, name = "FullSyncStatusMsg"),
  @JsonSubTypes.Type(value = Message.SyncStatus.class, name = "FullSyncStatusRetMsg"),
  @JsonSubTypes.Type(value = Message.HealthCheck.class, name = "HealthWorkerMsg"),
  @JsonSubTypes.Type(value = Message.Health.class, name = "HealthWorkerRetMsg"),
  @JsonSubTypes.Type(value = Message.Failure.class, name = "ErrorMsg"),
})
sealed interface Message {

  /** A worker is there; asked on the reply socket. */
  record Register(String instanceId, int workerId, String ip, int port, @Nullable String peerInitUrl)
      implements Message {}

  /** The answer; {@code extraConfig} may name a {@code heartbeat_url}. */
  record Registered(Map<String, String> extraConfig) implements Message {}

  /** A worker leaves. */
  record Deregister(String instanceId, int workerId, String ip, int port) implements Message {}

  /** Chunks came or went, in order. */
  record Operations(String instanceId, int workerId, String location, List<Operation> operations)
      implements Message {}

  /** A worker still lives; what it says of itself serves a controller that has forgotten it. */
  record Heartbeat(String instanceId, int workerId, String ip, int port, @Nullable String peerInitUrl)
      implements Message {}

  /** The answer to a heartbeat. */
  record Commands(List<Command> commands) implements Message {}

  /** A worker is about to tell all its chunks. */
  record SyncStart(
      String instanceId, int workerId, String location, String syncId, int totalKeys, int batchCount)
      implements Message {}

  /** Whether the controller listens. */
  record SyncStarted(String syncId, boolean accepted, @Nullable String errorMsg) implements Message {}

  /** Some of all chunks. */
  record SyncBatch(
      String instanceId, int workerId, String location, String syncId, int batchId, List<Long> keys)
      implements Message {}

  /** Those were all. */
  record SyncEnd(String instanceId, int workerId, String location, String syncId, int actualTotalKeys)
      implements Message {}

  /** Have they come? */
  record SyncQuery(String instanceId, int workerId, String syncId) implements Message {}

  /** They have, or these batches have not. */
  record SyncStatus(
      String syncId, boolean isComplete, double globalProgress, boolean canExitFreeze, List<Integer> missingBatches)
      implements Message {}

  /** Is all well? Asked by the controller at the worker's own port. */
  record HealthCheck(String workerEventId) implements Message {}

  /** The answer: 0 when it is. */
  record Health(int errorCode) implements Message {}

  /** A message made no sense. */
  record Failure(String error) implements Message {}

  /** One chunk came or went. */
  record Operation(Kind opType, long key, long seqNum) {}

  /** What became of a chunk. */
  enum Kind {
    @JsonProperty("admit")
    ADMIT,
    @JsonProperty("evict")
    EVICT
  }

  /** What a controller wants of a worker; {@code full_sync} is the only kind there is. */
  record Command(String commandType, @Nullable String reason, @Nullable Map<String, Object> args) {
    static final String FULL_SYNC = "full_sync";
  }
}
