package io.kvasir.scale.keda;

import com.google.protobuf.Message;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.protobuf.ProtoUtils;
import io.kvasir.scale.keda.wire.GetMetricSpecResponse;
import io.kvasir.scale.keda.wire.GetMetricsRequest;
import io.kvasir.scale.keda.wire.GetMetricsResponse;
import io.kvasir.scale.keda.wire.IsActiveResponse;
import io.kvasir.scale.keda.wire.ScaledObjectRef;

/** The methods of KEDA's external scaler protocol. */
final class ScalerProtocol {
  static final String SERVICE = "externalscaler.ExternalScaler";

  static final MethodDescriptor<ScaledObjectRef, IsActiveResponse> IS_ACTIVE =
      method(
          MethodType.UNARY, "IsActive", ScaledObjectRef.getDefaultInstance(), IsActiveResponse.getDefaultInstance());

  static final MethodDescriptor<ScaledObjectRef, IsActiveResponse> STREAM_IS_ACTIVE =
      method(
          MethodType.SERVER_STREAMING, "StreamIsActive", ScaledObjectRef.getDefaultInstance(),
          IsActiveResponse.getDefaultInstance());

  static final MethodDescriptor<ScaledObjectRef, GetMetricSpecResponse> GET_METRIC_SPEC =
      method(
          MethodType.UNARY, "GetMetricSpec", ScaledObjectRef.getDefaultInstance(),
          GetMetricSpecResponse.getDefaultInstance());

  static final MethodDescriptor<GetMetricsRequest, GetMetricsResponse> GET_METRICS =
      method(
          MethodType.UNARY, "GetMetrics", GetMetricsRequest.getDefaultInstance(),
          GetMetricsResponse.getDefaultInstance());

  private ScalerProtocol() {}

  private static <Q extends Message, A extends Message> MethodDescriptor<Q, A> method(
      MethodType type, String name, Q request, A response) {
    return MethodDescriptor.<Q, A>newBuilder()
        .setType(type)
        .setFullMethodName(MethodDescriptor.generateFullMethodName(SERVICE, name))
        .setRequestMarshaller(ProtoUtils.marshaller(request))
        .setResponseMarshaller(ProtoUtils.marshaller(response))
        .build();
  }
}
