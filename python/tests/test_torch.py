"""The PyTorch module; torch is large, so it is tested where it is installed."""

import numpy as np
import pytest
import treeport as tp

torch = pytest.importorskip("torch", reason="PyTorch is not installed; `pip install torch` adds it")


def test_values_and_gradients(words, documents):
    tw = tp.TreeWasserstein(words, epochs=3).fit(documents)
    measures = documents / documents.sum(axis=1, keepdims=True)
    module = tw.to_torch(torch.float64)
    A = torch.tensor(measures[:30], requires_grad=True)
    B = torch.tensor(measures[30:])
    values = module(A, B)
    np.testing.assert_allclose(values.detach().numpy(), tw.paired(measures[:30], measures[30:]), rtol=1e-9)
    values.sum().backward()
    # Along a move of mass that keeps the total.
    step = torch.zeros_like(B)
    step[:, 0], step[:, 1] = 1e-7, -1e-7
    ahead, behind = module(A.detach() + step, B), module(A.detach() - step, B)
    slope = (ahead - behind) / 2
    smooth = ((ahead + behind) / 2 - values.detach()).abs() < 1e-12  # away from kinks
    assert smooth.any()
    np.testing.assert_allclose((A.grad * step).sum(dim=1)[smooth], slope[smooth], atol=1e-12)


def test_it_is_a_module(words, documents, tmp_path):
    tw = tp.TreeWasserstein(words, epochs=3).fit(documents)
    module = tw.to_torch()
    one = torch.tensor(documents[0] / documents[0].sum(), dtype=torch.get_default_dtype())
    assert module(one, one).shape == (1,)
    torch.save(module, tmp_path / "module.pt")
    back = torch.load(tmp_path / "module.pt", weights_only=False)
    other = torch.tensor(documents[1] / documents[1].sum(), dtype=torch.get_default_dtype())
    assert torch.equal(module(one, other), back(one, other))


def test_gradcheck(words, documents):
    module = tp.TreeWasserstein(words, epochs=3).fit(documents).to_torch(torch.float64)
    rng = np.random.default_rng(0)
    A, B = (torch.tensor(rng.dirichlet(np.ones(25), size=3), requires_grad=True) for _ in range(2))
    assert torch.autograd.gradcheck(module, (A, B))


def test_unequal_totals_are_refused(rng):
    tree = tp.linkage(points=rng.normal(size=(400, 2)))
    from treeport._torch import TreeDistance

    for dtype in (torch.float32, torch.float64):
        module = TreeDistance(tree, dtype)
        A = torch.rand(5, 400, dtype=dtype)
        A = A / A.sum(dim=1, keepdim=True)
        B = A[torch.tensor([1, 2, 3, 4, 0])]
        assert torch.isfinite(module(A, B)).all()
        off = A.clone()
        off[3] *= 2
        with pytest.raises(ValueError, match="measures 3 have total mass 2 and 1; transport needs equal"):
            module(off, B)
        with pytest.raises(ValueError, match="measures 0 have total mass 1 and nan"):
            module(A, B * float("nan"))
        with pytest.raises(ValueError, match="measures 0 have total mass 2 and 1"):
            module(2 * A[0], B[0])


def test_batches_have_the_distances_and_gradients_of_their_rows(words, documents):
    tw = tp.TreeWasserstein(words, epochs=3).fit(documents)
    module = tw.to_torch(torch.float64)
    masses = torch.tensor(documents / documents.sum(axis=1, keepdims=True))
    A = masses[:6].reshape(2, 3, -1).clone().requires_grad_()
    values = module(A[:, :, None], masses[None, None, 10:14])
    assert values.shape == (2, 3, 4)
    np.testing.assert_allclose(
        values.detach().reshape(6, 4).numpy(), tw.pairwise(documents[:6], documents[10:14]), rtol=1e-9
    )
    values.sum().backward()
    rows = masses[:6].clone().requires_grad_()
    sum(module(rows[i], masses[j]).sum() for i in range(6) for j in range(10, 14)).backward()
    torch.testing.assert_close(A.grad.reshape(6, -1), rows.grad)
