package io.kvasir.sim.lmcache;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A message between LMCache's workers and controller: a map whose {@code type} names the message. A worker is an
 * instance's tensor-parallel rank. {@link MessageCodec} writes and reads them.
 */
@JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "type")
@JsonSubTypes({
  @JsonSubTypes.Type(value = ControllerMessage.Register.class, name = "RegisterMsg"),
  @JsonSubTypes.Type(value = ControllerMessage.Registered.class, name = "RegisterRetMsg"),
  @JsonSubTypes.Type(value = ControllerMessage.Deregister.class, name = "DeRegisterMsg"),
  @JsonSubTypes.Type(value = ControllerMessage.Operations.class, name = "BatchedKVOperationMsg"),
  @JsonSubTypes.Type(value = ControllerMessage.Heartbeat.class, name = "HeartbeatMsg"),
  @JsonSubTypes.Type(value = ControllerMessage.Commands.class, name = "HeartbeatRetMsg"),
  @JsonSubTypes.Type(value = ControllerMessage.SyncStart.class, name = "FullSyncStartMsg"),
  @JsonSubTypes.Type(value = ControllerMessage.SyncStarted.class, name = "FullSyncStartRetMsg"),
  @JsonSubTypes.Type(value = ControllerMessage.SyncBatch.class, name = "FullSyncBatchMsg"),
  @JsonSubTypes.Type(value = ControllerMessage.SyncEnd.class, name = "FullSyncEndMsg"),
  @JsonSubTypes.Type(value = ControllerMessage.SyncQuery.class, name = "FullSyncStatusMsg"),
  @JsonSubTypes.Type(value = ControllerMessage.SyncStatus.class, name = "FullSyncStatusRetMsg"),
  @JsonSubTypes.Type(value = ControllerMessage.HealthCheck.class, name = "HealthWorkerMsg"),
  @JsonSubTypes.Type(value = ControllerMessage.Health.class, name = "HealthWorkerRetMsg"),
  @JsonSubTypes.Type(value = ControllerMessage.Failure.class, name = "ErrorMsg"),
})
sealed interface ControllerMessage {

  /** Registers a worker; a request on the reply socket. */
  record Register(String instanceId, int workerId, String ip, int port, @Nullable String peerInitUrl)
      implements ControllerMessage {}

  /** The answer; {@code extraConfig} may name a {@code heartbeat_url}. */
  record Registered(Map<String, String> extraConfig) implements ControllerMessage {}

  /** Deregisters a worker. */
  record Deregister(String instanceId, int workerId, String ip, int port) implements ControllerMessage {}

  /** Chunks came or went, in order. */
  record Operations(String instanceId, int workerId, String location, List<Operation> operations)
      implements ControllerMessage {}

  /** A worker's heartbeat; its address serves a controller that has restarted. */
  record Heartbeat(String instanceId, int workerId, String ip, int port, @Nullable String peerInitUrl)
      implements ControllerMessage {}

  /** The answer to a heartbeat. */
  record Commands(List<Command> commands) implements ControllerMessage {}

  /** Begins a worker's report of all its chunks. */
  record SyncStart(
      String instanceId, int workerId, String location, String syncId, int totalKeys, int batchCount)
      implements ControllerMessage {}

  /** Whether the controller listens. */
  record SyncStarted(String syncId, boolean accepted, @Nullable String errorMsg) implements ControllerMessage {}

  /** Some of all chunks. */
  record SyncBatch(
      String instanceId, int workerId, String location, String syncId, int batchId, List<Long> keys)
      implements ControllerMessage {}

  /** Those were all. */
  record SyncEnd(String instanceId, int workerId, String location, String syncId, int actualTotalKeys)
      implements ControllerMessage {}

  /** Have they come? */
  record SyncQuery(String instanceId, int workerId, String syncId) implements ControllerMessage {}

  /** They have, or these batches have not. */
  record SyncStatus(
      String syncId, boolean isComplete, double globalProgress, boolean canExitFreeze, List<Integer> missingBatches)
      implements ControllerMessage {}

  /** A health check by the controller at the worker's own port. */
  record HealthCheck(String workerEventId) implements ControllerMessage {}

  /** The answer: 0 when it is. */
  record Health(int errorCode) implements ControllerMessage {}

  /** A message made no sense. */
  record Failure(String error) implements ControllerMessage {}

  /** One chunk came or went. */
  record Operation(Kind opType, long key, long seqNum) {}

  /** What became of a chunk. */
  enum Kind {
    @JsonProperty("admit")
    ADMIT,
    @JsonProperty("evict")
    EVICT
  }

  /** A controller's command to a worker; {@code full_sync} is the only kind there is. */
  record Command(String commandType, @Nullable String reason, @Nullable Map<String, Object> args) {
    static final String FULL_SYNC = "full_sync";
  }
}
