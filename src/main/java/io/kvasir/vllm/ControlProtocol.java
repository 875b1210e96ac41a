package io.kvasir.vllm;

import com.google.protobuf.Message;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.protobuf.ProtoUtils;

/** The methods of vLLM's control service that are of use here. */
public final class ControlProtocol {
  /** The service's full name. */
  public static final String SERVICE = "vllm.Control";

  /** The size of the cache, of its blocks and of the server. */
  public static final MethodDescriptor<GetServerInfoRequest, ServerInfo> GET_SERVER_INFO =
      method("GetServerInfo", GetServerInfoRequest.getDefaultInstance(), ServerInfo.getDefaultInstance());

  /** The model's own name, whatever requests call it by. */
  public static final MethodDescriptor<GetModelInfoRequest, ModelInfo> GET_MODEL_INFO =
      method("GetModelInfo", GetModelInfoRequest.getDefaultInstance(), ModelInfo.getDefaultInstance());

  /** Where the cache events of each rank are. */
  public static final MethodDescriptor<GetKvEventSourcesRequest, GetKvEventSourcesResponse> GET_KV_EVENT_SOURCES =
      method(
          "GetKvEventSources", GetKvEventSourcesRequest.getDefaultInstance(),
          GetKvEventSourcesResponse.getDefaultInstance());

  private ControlProtocol() {}

  private static <Q extends Message, A extends Message> MethodDescriptor<Q, A> method(
      String name, Q request, A response) {
    return MethodDescriptor.<Q, A>newBuilder()
        .setType(MethodType.UNARY)
        .setFullMethodName(MethodDescriptor.generateFullMethodName(SERVICE, name))
        .setRequestMarshaller(ProtoUtils.marshaller(request))
        .setResponseMarshaller(ProtoUtils.marshaller(response))
        .build();
  }
}
